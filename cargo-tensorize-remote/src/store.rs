//! The store itself: many requests at a time, none for long.

use crate::settings::Settings;
use crate::told;
use anyhow::{Context, Result};
use futures_util::{StreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutPayload, RetryConfig};
use std::future::Future;
use std::time::Duration;
use url::{Position, Url};

/// A request that takes longer has failed, and with it the store: whoever is offline waits once.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many requests are under way.
const AT_ONCE: usize = 16;
/// No entry is larger.
const MOST_BYTES: u64 = 16 << 20;

struct Store {
    store: Box<dyn ObjectStore>,
    folder: Path,
}

impl Store {
    fn open(settings: &Settings) -> Result<Store> {
        // Without this, the first connection with TLS would panic; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Credentials are where the tools of each store look for them: AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT, …
        let mut options: Vec<(String, String)> = std::env::vars()
            .filter(|(name, _)| {
                let known = ["AWS_", "GOOGLE_", "AZURE_"];
                known.iter().any(|p| name.starts_with(p))
            })
            .collect();
        // Nobody who listens can change what is signed.
        if settings.url.scheme() == "http" {
            options.push(("allow_http".into(), "true".into()));
        }
        let (store, folder) = opened(&settings.url, options)
            .with_context(|| format!("TENSORIZE_REMOTE is {}", settings.url))?;
        Ok(Store { store, folder })
    }

    /// Below the folder, a part of the key at a time.
    fn place(&self, key: &str) -> Path {
        let parts = key.split('/');
        parts.fold(self.folder.clone(), |path, part| path.join(part))
    }

    /// `None` if there is nothing.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let place = self.place(key);
        let request = async {
            let found = self.store.get(&place).await?;
            if found.meta.size > MOST_BYTES {
                return Ok(vec![]);
            }
            Ok(found.bytes().await?.to_vec())
        };
        match in_time(request).await? {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e @ object_store::Error::NotFound { .. }) if !is_about_the_store(&e) => Ok(None),
            Err(e) => Err(told::in_a_line(&e)),
        }
    }

    async fn put(&self, key: &str, text: String) -> Result<(), String> {
        let place = self.place(key);
        let request = self.store.put(&place, PutPayload::from(text));
        in_time(request).await?.map_err(|e| told::in_a_line(&e))?;
        Ok(())
    }
}

/// As `object_store::parse_url_opts` does it, which can't be told how often to try again: without that, a certificate
/// that is not trusted would be tried for minutes, and then all that is known is that there was no answer.
fn opened(
    url: &Url,
    options: Vec<(String, String)>,
) -> object_store::Result<(Box<dyn ObjectStore>, Path)> {
    let (scheme, folder) = ObjectStoreScheme::parse(url)?;
    let retry = RetryConfig {
        max_retries: 2,
        retry_timeout: PATIENCE,
        ..RetryConfig::default()
    };
    // Each kind of store knows its own settings; the others' are left alone.
    macro_rules! built {
        ($builder:ty, $url:expr) => {{
            let builder = <$builder>::new().with_url($url).with_retry(retry);
            let builder = options.into_iter().fold(builder, |builder, (name, value)| {
                match name.to_ascii_lowercase().parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                }
            });
            Box::new(builder.build()?) as Box<dyn ObjectStore>
        }};
    }
    let store = match scheme {
        ObjectStoreScheme::AmazonS3 => built!(AmazonS3Builder, url.as_str()),
        ObjectStoreScheme::GoogleCloudStorage => built!(GoogleCloudStorageBuilder, url.as_str()),
        ObjectStoreScheme::MicrosoftAzure => built!(MicrosoftAzureBuilder, url.as_str()),
        ObjectStoreScheme::Http => built!(HttpBuilder, &url[..Position::BeforePath]),
        _ => {
            return Err(object_store::Error::NotSupported {
                source: format!("`{}` is no kind of store that is known here", url.scheme()).into(),
            });
        }
    };
    Ok((store, folder))
}

async fn in_time<T>(request: impl Future<Output = T>) -> Result<T, String> {
    let seconds = PATIENCE.as_secs();
    let done = tokio::time::timeout(PATIENCE, request).await;
    done.map_err(|_| format!("no answer within {seconds} s"))
}

/// That there is no such bucket or container; an entry that is not there is something else.
fn is_about_the_store(e: &object_store::Error) -> bool {
    let codes = ["NoSuchBucket", "ContainerNotFound"];
    told::code(&e.to_string()).is_some_and(|code| codes.contains(&code))
}

fn run<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(work);
    // Whoever asks for a host's address can't be interrupted: nobody waits for that.
    runtime.shutdown_background();
    Ok(done)
}

/// What a request for each of many gave, and why the others were not made.
type Done<T> = (Vec<T>, Option<String>);

/// What lies under these keys. After a first failure nothing more is asked.
pub fn get_all(settings: &Settings, keys: &[String]) -> Result<Done<(String, Vec<u8>)>> {
    let store = Store::open(settings)?;
    run(async {
        let requests = keys.iter().map(|key| {
            let store = &store;
            async move { (key, store.get(key).await) }
        });
        let mut answers = stream::iter(requests).buffer_unordered(AT_ONCE);
        let mut found = Vec::new();
        while let Some((key, answer)) = answers.next().await {
            match answer {
                Ok(bytes) => found.extend(bytes.map(|b| (key.clone(), b))),
                Err(why) => return (found, Some(why)),
            }
        }
        (found, None)
    })
}

/// Writes these; how many there are now.
pub fn put_all(
    settings: &Settings,
    texts: Vec<(String, String)>,
) -> Result<(usize, Option<String>)> {
    let store = &Store::open(settings)?;
    run(async {
        let requests = texts
            .into_iter()
            .map(|(key, text)| async move { store.put(&key, text).await });
        let mut answers = stream::iter(requests).buffer_unordered(AT_ONCE);
        let mut written = 0;
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(()) => written += 1,
                Err(why) => return (written, Some(why)),
            }
        }
        (written, None)
    })
}
