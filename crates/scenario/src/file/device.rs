//! The table `[device]`.

use toml::Spanned;

use super::{TimeLawFile, table_of_keys};

table_of_keys! {
    /// The table `[device]`.
    pub struct DeviceFile {
        /// the service time of each access, regardless of its position: `{ exponential_ms = 5.0 }`, `{ constant_ms =
        /// 5.0 }` or one of the distributions of think times; `{ empirical = { trace = "alone.ios" } }` draws from the
        /// latencies in a recording
        pub service: Option<Spanned<TimeLawFile>>,
        /// name of a model that [the program registers](extend.md), used instead of `service`
        pub model: Option<Spanned<String>>,
        /// the size of each device, such as `"1TB"`
        pub capacity: Spanned<String>,
        /// options of a registered model
        #[table = "[device.options]"]
        pub options: Option<Spanned<toml::Table>>,
    }
}
