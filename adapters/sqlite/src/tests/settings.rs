//! Projects and Providers' settings.

use super::*;
use owl_domain::{
    ports::AddError,
    provider::{BaseUrl, LastError, ProviderSettings},
};

#[tokio::test]
async fn a_project_is_kept_as_it_was_registered() {
    let owl = Owl::new();
    let projects = owl.store.projects();
    let (one, other) = (project("zebra", "/home/u/zebra"), project("ant", "/home/u/ant"));
    projects.add(one.clone()).await.unwrap();
    projects.add(other.clone()).await.unwrap();
    let same_name = AddError::Exists { existing: Box::new(one.clone()) };
    assert_eq!(projects.add(project("zebra", "/home/u/elsewhere")).await, Err(same_name.clone()));
    assert_eq!(projects.add(project("other", "/home/u/zebra")).await, Err(same_name));
    drop(projects);
    let owl = owl.reopen();
    let projects = owl.store.projects();
    assert_eq!(projects.list().await.unwrap(), [other, one.clone()]);
    assert_eq!(projects.get(one.name.clone()).await.unwrap(), Some(one.clone()));
    assert!(projects.remove(one.name.clone()).await.unwrap());
    assert!(!projects.remove(one.name.clone()).await.unwrap());
    assert_eq!(projects.get(one.name).await.unwrap(), None);
}

#[tokio::test]
async fn the_list_of_projects_follows_every_change_also_when_nobody_waited_for_it() {
    let owl = Owl::new();
    let projects = owl.store.projects();
    let one = project("ant", "/home/u/ant");
    assert_eq!(projects.list().await.unwrap(), []);
    projects.add(one.clone()).await.unwrap();
    assert_eq!(owl.store.projects().list().await.unwrap(), std::slice::from_ref(&one));
    // Asked for, and let go at once: the change is made all the same, before the one that is waited for.
    let asked = |change: &mut (dyn Future<Output = ()> + Unpin + Send)| {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _once = std::pin::Pin::new(change).poll(&mut context);
    };
    asked(&mut Box::pin(async { drop(projects.remove(one.name.clone()).await) }));
    owl.conversation().await;
    assert_eq!(projects.list().await.unwrap(), []);
    asked(&mut Box::pin(async { drop(projects.add(one.clone()).await) }));
    owl.conversation().await;
    assert_eq!(projects.list().await.unwrap(), [one]);
}

#[tokio::test]
async fn settings_are_replaced_whole_and_removed_with_the_last_error() {
    let owl = Owl::new();
    let configs = owl.store.provider_configs();
    let provider = Provider::OpenRouter;
    assert_eq!(configs.get(provider).await.unwrap(), None);
    let settings = ProviderSettings {
        base_url: Some(BaseUrl::normalised("http://localhost:4000")),
        default_model: Some(ModelId::new("a/b").unwrap()),
        models: vec![ModelId::new("a/b").unwrap(), ModelId::new("c\"d").unwrap()],
    };
    configs.set(provider, settings.clone()).await.unwrap();
    assert_eq!(configs.get(provider).await.unwrap(), Some(settings));
    configs.set(provider, ProviderSettings::default()).await.unwrap();
    assert_eq!(configs.get(provider).await.unwrap(), Some(ProviderSettings::default()));
    assert_eq!(configs.get(Provider::Anthropic).await.unwrap(), None);

    let error = LastError { at: owl.now, status: Some(401), message: "the key was refused".into() };
    configs.set_last_error(provider, Some(error.clone())).await.unwrap();
    assert_eq!(configs.last_error(provider).await.unwrap(), Some(error.clone()));
    configs.set_last_error(provider, None).await.unwrap();
    assert_eq!(configs.last_error(provider).await.unwrap(), None);
    configs.set_last_error(provider, Some(error)).await.unwrap();
    assert!(configs.remove(provider).await.unwrap());
    assert_eq!(configs.last_error(provider).await.unwrap(), None);
    assert!(!configs.remove(provider).await.unwrap());
}
