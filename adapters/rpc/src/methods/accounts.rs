//! `accounts.*`.

use super::{Api, fields};
use crate::{
    error::{self, RpcError},
    params::{Reason, checked, invalid},
    table::{NoParams, Table},
    wire::{Account, AddedAccountAnswer, Listed, PermissionsNow, RemovedAccount},
};
use owl_domain::{provider::Secret, text::AccountName};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddParams {
    /// Its name: lower-case letters, digits, `_` and `-`.
    name: String,
    /// The token of its Agents; for an Account that is there it replaces the stored one.
    token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AccountParams {
    /// Its name.
    account: String,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    table.read("accounts.list", "Lists the Accounts, by name.", &[], move |_, NoParams {}| {
        let api = at.clone();
        async move { Ok(Listed { items: api.accounts.list().await?.into_iter().map(Account::from).collect() }) }
    });

    let at = api.clone();
    let summary = "Adds an Account with its directory, or replaces the token of one. The token is never told again.";
    let errors = &[&error::ALREADY_EXISTS, &error::CREDENTIAL_STORE];
    table.change("accounts.add", summary, errors, move |_, given: AddParams| {
        let api = at.clone();
        async move {
            let name = checked("name", AccountName::new(given.name))?;
            let token = given.token.map(Secret::new).transpose();
            let token = token.map_err(|error| invalid("token", Reason::Value, error.to_string()))?;
            Ok(AddedAccountAnswer::from(api.accounts.add(name, token).await?))
        }
    });

    let at = api.clone();
    table.read("accounts.get", "Returns one Account.", &[&error::NOT_FOUND], move |_, given: AccountParams| {
        let api = at.clone();
        async move {
            let view = api.accounts.get(fields::account(&given.account)?).await?;
            view.map(Account::from).ok_or_else(|| RpcError::not_found("account", given.account))
        }
    });

    let at = api.clone();
    let summary = "Returns what an Agent of an Account is allowed, read now. Nothing is written.";
    table.read("accounts.permissions", summary, &[&error::NOT_FOUND], move |_, given: AccountParams| {
        let api = at.clone();
        async move {
            let found = api.accounts.permissions(fields::account(&given.account)?).await?;
            found.map(PermissionsNow::from).ok_or_else(|| RpcError::not_found("account", given.account))
        }
    });

    let at = api.clone();
    let summary = "Removes an Account and its token. Its directory stays.";
    let errors = &[&error::NOT_FOUND, &error::IN_USE, &error::CREDENTIAL_STORE];
    table.change("accounts.remove", summary, errors, move |_, given: AccountParams| {
        let api = at.clone();
        async move {
            let removed = api.accounts.remove(fields::account(&given.account)?).await;
            let removed = removed.map_err(|error| RpcError::drop_account(error, &given.account))?;
            let kept_dir = removed.ok_or_else(|| RpcError::not_found("account", &given.account))?.to_string();
            Ok(RemovedAccount { account: given.account, removed: true, kept_dir })
        }
    });
}
