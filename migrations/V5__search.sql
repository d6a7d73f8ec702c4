-- Search over titles, messages and commands. The index holds words and no text: what was found is read where it
-- stands. A row is 2 * id of an Item, or 2 * id + 1 of a Conversation for its title. Case is folded, accents are not.
-- `secure-delete` takes what is deleted out of the index at once, and not with some later merge.

CREATE VIRTUAL TABLE search USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 0');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
