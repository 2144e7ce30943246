//! The table `[device]`.

use toml::Spanned;

use super::table_of_keys;

table_of_keys! {
    /// The table `[device]`.
    pub struct DeviceFile {
        /// the name of a model that [the program registers](extend.md)
        pub model: Spanned<String>,
        /// the size of each device, such as `"1TB"`
        pub capacity: Spanned<String>,
        /// what the model takes
        #[table = "[device.options]"]
        pub options: Option<Spanned<toml::Table>>,
    }
}
