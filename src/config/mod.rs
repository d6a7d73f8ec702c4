//! What a person writes down: the daemon's file and a Project's own, both strict (D3), and where things lie (D2).

pub(crate) mod daemon;
pub(crate) mod places;
pub(crate) mod project;
mod span;
pub(crate) mod strict;

/// The one version of both files that this Owl reads.
pub(crate) const API_VERSION: &str = "codingowl.dev/v1";

#[cfg(test)]
mod tests {
    use super::{daemon::RawConfig, project::RawProject};
    use expect_test::expect_file;
    use schemars::{JsonSchema, generate::SchemaSettings};

    fn schema<T: JsonSchema>() -> String {
        let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>();
        serde_json::to_string_pretty(&schema).unwrap() + "\n"
    }

    #[test]
    fn the_schemas_of_both_files_are_those_in_schemas() {
        expect_file!["../../schemas/config.json"].assert_eq(&schema::<RawConfig>());
        expect_file!["../../schemas/project.json"].assert_eq(&schema::<RawProject>());
    }

    #[test]
    fn the_readmes_configuration_is_one_that_is_read() {
        let yaml = of_the_readme("consent:");
        let read = super::daemon::parse(std::path::Path::new("config.yaml"), yaml);
        assert_eq!(read, Ok(super::daemon::Config::default()));
    }

    #[test]
    fn the_readmes_project_file_is_one_that_is_read() {
        let terms = super::project::read_example(of_the_readme("checks:"));
        assert_eq!((terms.checks.len(), terms.verification_agent), (1, true));
    }

    /// The block of YAML that says this.
    fn of_the_readme(what: &str) -> &'static str {
        let blocks = include_str!("../../README.md").split("```yaml\n").skip(1);
        blocks.filter_map(|rest| rest.split("```").next()).find(|yaml| yaml.contains(what)).unwrap()
    }
}
