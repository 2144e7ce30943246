//! The table `[device]`.

use toml::Spanned;

use super::{TimeLawFile, table_of_keys};

table_of_keys! {
    /// The table `[device]`.
    pub struct DeviceFile {
        /// the service time of each access, regardless of its position: `{ exponential_ms = 5.0 }`, `{ constant_ms =
        /// 5.0 }` or one of the distributions of think times; `{ empirical = { trace = "alone.ios" } }` draws from the
        /// latencies of records
        pub service: Option<Spanned<TimeLawFile>>,
        /// instead of `service`: the name of a model that [the program registers](extend.md)
        pub model: Option<Spanned<String>>,
        /// the size of each device, such as `"1TB"`
        pub capacity: Spanned<String>,
        /// what a registered model takes
        #[table = "[device.options]"]
        pub options: Option<Spanned<toml::Table>>,
    }
}
