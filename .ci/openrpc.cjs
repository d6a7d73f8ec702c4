// Holds the schema against OpenRPC's own, offline, and sees that a made-up member fails: node openrpc.cjs DIR FILE
const path = require("path");
const fs = require("fs");
const [dir, file] = process.argv.slice(2);
const from = (name) => require(path.resolve(dir, "node_modules", name));
const Ajv = from("ajv").default || from("ajv");
let meta = from("@open-rpc/meta-schema");
meta = JSON.parse(JSON.stringify(meta.default || meta));
// Remote references cannot be followed here: any schema is let through in their place.
const local = (node) => {
  if (!node || typeof node !== "object") return;
  if (typeof node.$ref === "string" && !node.$ref.startsWith("#")) { delete node.$ref; }
  Object.values(node).forEach(local);
};
local(meta);
delete meta.$schema;
delete meta.$id;
const validate = new Ajv({ strict: false, allErrors: true }).compile(meta);
const document = JSON.parse(fs.readFileSync(file, "utf8"));
if (!validate(document)) {
  console.error(JSON.stringify(validate.errors.slice(0, 10), null, 1));
  process.exit(1);
}
if (validate({ ...document, methods: document.methods.map((m) => ({ ...m, made_up: 1 })) })) {
  console.error("a made-up member passed: this check cannot fail");
  process.exit(1);
}
console.log(`${file}: ${document.methods.length} methods fit the meta-schema`);
