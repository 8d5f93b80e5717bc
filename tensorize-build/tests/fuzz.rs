//! The store's formats on inputs near to those of a corpus: what is read is what was written, or nothing.

#[path = "../../tests/fuzz/near.rs"]
mod near;
#[path = "../../tests/fuzz/records.rs"]
mod records;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use records::{check, forged, read};
use std::fs;
use tensorize_build::record::{Record, Status, TargetRecord, TargetStatus, short_hash};
use tensorize_build::store::Store;

#[test]
fn the_corpus_is_read() {
    let corpus = near::corpus("records");
    let is_read = |bytes: &&Vec<u8>| {
        let text = std::str::from_utf8(bytes).unwrap();
        forged(text).is_some_and(|text| read(&text).is_some())
    };
    assert!(corpus.iter().filter(is_read).count() >= 3);
}

proptest! {
    #![proptest_config(near::config(1500))]

    #[test]
    fn near_records(input in near::near(near::corpus("records"))) {
        check(&input);
    }
}

proptest! {
    #![proptest_config(near::config(300))]

    /// What is loaded has the name of its file, and can be stored and loaded again.
    #[test]
    fn stores(input in near::near(near::corpus("records"))) {
        let text = String::from_utf8_lossy(&input).into_owned();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::of_manifest(dir.path());
        fs::create_dir_all(store.dir()).unwrap();
        for (name, text) in [("a", text.clone()), ("scale", forged(&text).unwrap_or(text))] {
            fs::write(store.path_of(name), &text).unwrap();
        }
        let loaded = store.load();
        prop_assert_eq!(loaded.entries.len() + loaded.rejected.len(), 2);
        for entry in &loaded.entries {
            prop_assert!(store.path_of(&entry.record.name).exists());
            store.save(&entry.record, &entry.sources).unwrap();
        }
        store.tidy();
        prop_assert_eq!(store.load().entries.len(), loaded.entries.len());
    }

    /// However the path of a source is written, it leads nowhere else, even if the record has the hash of what is there.
    #[test]
    fn paths(parts in vec(select(&["..", ".", "", "cpu", "scale.c", "link", "~", "C:"][..]), 1..6), mark in select(&["/", "\\", "//"][..])) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::of_manifest(&dir.path().join("p"));
        fs::create_dir_all(store.dir().join("cpu")).unwrap();
        for outside in ["scale.c", "cpu/scale.c", "p/scale.c", "p/cpu/scale.c"] {
            let path = dir.path().join(outside);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret").unwrap();
        }
        let mut record = Record::new("scale", "k.c", 1, "00", Status::Proven);
        record.targets.insert("cpu".into(), TargetRecord {
            status: TargetStatus::Generated,
            tier: None,
            file: Some(parts.join(mark)),
            entry: None,
            source_hash: Some(short_hash(b"secret")),
            emulated: false,
            guards: vec![],
            why: None,
        });
        record.seal();
        fs::write(store.path_of("scale"), record.to_toml().unwrap()).unwrap();
        prop_assert!(store.load().entries.is_empty());
        let written = store.save(&record, &[("cpu".into(), "mine".into())].into());
        if written.is_ok() {
            prop_assert_eq!(store.load().entries.len(), 1);
        }
        let secrets = ["scale.c", "cpu/scale.c", "p/scale.c", "p/cpu/scale.c"];
        for outside in secrets {
            prop_assert_eq!(fs::read_to_string(dir.path().join(outside)).unwrap(), "secret");
        }
    }
}
