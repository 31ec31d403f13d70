//! kube-rs at work: create, get, list, patch, apply, watch, a reflector with streaming lists, metadata, delete. Reads $KUBECONFIG.
use std::collections::BTreeSet;
use std::future::ready;
use std::time::Duration;

use futures::{pin_mut, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{reflector, watcher, WatchStreamExt};
use kube::{Client, ResourceExt};
use serde_json::json;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const NAMESPACE: &str = "rust";

fn expect(condition: bool, what: &str) -> Outcome {
    if condition {
        println!("ok: {what}");
        return Ok(());
    }
    Err(format!("not so: {what}").into())
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"of": "rust"}}, "data": {"v": value}})).unwrap()
}

async fn make_namespace(client: &Client) -> Outcome {
    let all: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    all.create(&PostParams::default(), &namespace).await?;
    Ok(())
}

async fn writes(maps: &Api<ConfigMap>) -> Outcome {
    for n in 0..5 {
        maps.create(&PostParams::default(), &map(&format!("m{n}"), "0")).await?;
    }
    let taken = maps.create(&PostParams::default(), &map("m0", "0")).await;
    expect(matches!(taken, Err(kube::Error::Api(ref e)) if e.code == 409 && e.reason == "AlreadyExists"), "a name that is taken is a conflict")?;
    let merged = maps.patch("m1", &PatchParams::default(), &Patch::Merge(json!({"data": {"v": "1"}}))).await?;
    expect(merged.data.unwrap()["v"] == "1", "a merge patch changes the object")?;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m2"}, "data": {"mine": "yes"}});
    let applied = maps.patch("m2", &PatchParams::apply("rust"), &Patch::Apply(applied)).await?;
    expect(applied.data.unwrap().len() == 2, "an applied field is added")?;
    let conflict = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m2"}, "data": {"mine": "no"}});
    let conflict = maps.patch("m2", &PatchParams::apply("other"), &Patch::Apply(conflict)).await;
    expect(matches!(conflict, Err(kube::Error::Api(ref e)) if e.code == 409), "a field of another manager is a conflict")?;
    let mut stale = maps.get("m3").await?;
    maps.replace("m3", &PostParams::default(), &stale).await?;
    stale.data = Some([("v".into(), "9".into())].into());
    maps.replace("m3", &PostParams::default(), &stale).await?;
    stale.data = None;
    let stale = maps.replace("m3", &PostParams::default(), &stale).await;
    expect(matches!(stale, Err(kube::Error::Api(ref e)) if e.code == 409), "an old version is a conflict")
}

async fn lists(maps: &Api<ConfigMap>) -> Outcome {
    let page = maps.list(&ListParams::default().labels("of=rust").limit(2)).await?;
    let next = page.metadata.continue_.clone().unwrap_or_default();
    expect(page.items.len() == 2 && !next.is_empty(), "a list comes in pages")?;
    let rest = maps.list(&ListParams::default().labels("of=rust").continue_token(&next)).await?;
    expect(rest.items.len() == 3, "the next page has the rest")?;
    let metadata = maps.list_metadata(&ListParams::default().labels("of=rust")).await?;
    expect(metadata.items.len() == 5, "metadata alone can be listed")
}

async fn watches(maps: &Api<ConfigMap>) -> Outcome {
    let from = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap();
    let stream = maps.watch(&WatchParams::default().timeout(60), &from).await?.boxed();
    pin_mut!(stream);
    maps.create(&PostParams::default(), &map("watched", "0")).await?;
    maps.delete("watched", &DeleteParams::default()).await?;
    let mut seen = Vec::new();
    while let Some(event) = stream.try_next().await? {
        match event {
            WatchEvent::Added(o) => seen.push(format!("added {}", o.name_any())),
            WatchEvent::Deleted(o) => seen.push(format!("deleted {}", o.name_any())),
            WatchEvent::Error(e) => return Err(format!("the watch ended: {e:?}").into()),
            _ => {}
        }
        if seen.len() == 2 {
            break;
        }
    }
    expect(seen == ["added watched", "deleted watched"], "a watch sees what happens")
}

async fn reflects(maps: Api<ConfigMap>, config: watcher::Config, what: &str) -> Outcome {
    let (reader, writer) = reflector::store();
    let stream = reflector::reflector(writer, watcher(maps.clone(), config.labels("of=rust"))).default_backoff();
    let run = stream.touched_objects().try_for_each(|_| ready(Ok(())));
    let check = async {
        reader.wait_until_ready().await?;
        let names: BTreeSet<_> = reader.state().iter().map(|o| o.name_any()).collect();
        expect(names == ["m0", "m1", "m2", "m3", "m4"].map(String::from).into(), &format!("{what} fills its cache"))?;
        maps.create(&PostParams::default(), &map("late", "0")).await?;
        for _ in 0..600 {
            if reader.state().len() == 6 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        maps.delete("late", &DeleteParams::default()).await?;
        expect(true, &format!("{what} follows"))
    };
    tokio::select! {
        ended = run => Err(format!("{what} ended: {ended:?}").into()),
        checked = check => checked,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let client = Client::try_default().await?;
    println!("server {}", client.apiserver_version().await?.git_version);
    make_namespace(&client).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    writes(&maps).await?;
    lists(&maps).await?;
    watches(&maps).await?;
    reflects(maps.clone(), watcher::Config::default(), "a reflector").await?;
    reflects(maps.clone(), watcher::Config::default().streaming_lists(), "a reflector with streaming lists").await?;
    maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("of=rust")).await?;
    expect(maps.list(&ListParams::default().labels("of=rust")).await?.items.is_empty(), "a collection is deleted")?;
    println!("done");
    Ok(())
}
