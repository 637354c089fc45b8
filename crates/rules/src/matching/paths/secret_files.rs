//! The list of files whose content is nobody's, beside the rules of the cookbook.

use super::{Braces, alternatives};
use hookwire_base::support::secret_files::off_limits;
use std::path::Path;

/// What a rule of the cookbook keeps from being read, this list does.
#[test]
fn the_cookbook_names_no_other_files() {
    let mut n_held = 0;
    for rule in [
        include_str!("../../../../../examples/cookbook/no-env-read.yaml"),
        include_str!("../../../../../examples/cookbook/no-credentials.yaml"),
    ] {
        for line in rule.lines().take_while(|line| !line.contains("unless:")) {
            let Some((tools, pattern)) = line.trim().trim_start_matches("- ").split_once('(')
            else {
                continue;
            };
            if tools.split('|').any(|tool| tool == "Read") {
                let pattern = pattern
                    .trim_end_matches(')')
                    .replace("**", "x")
                    .replace('*', "x")
                    .replace('~', "home");
                for file in alternatives(&pattern, Braces::OfPath).unwrap() {
                    assert!(off_limits(Path::new(&file)).is_some(), "{file}");
                    n_held += 1;
                }
            }
        }
    }
    assert!(n_held >= 10, "{n_held}");
}

#[test]
fn files_of_secrets() {
    for name in "
        .env .ENV .envrc .env.local .env.production .env-prod .env~ .env.bak ..env.swp #.env# prod.env web/.env.old
        secrets.yml secrets.yaml secret.json secrets.prod.yml app-secrets.toml config/secrets.properties credentials
        credentials.json credentials.toml aws_credentials client_secret_12.json passwords.txt
        service-account.json service-account-prod.json gcp-service-account.json serviceAccount.json kubeconfig
        prod.kubeconfig kubeconfig.yaml terraform.tfstate terraform.tfstate.backup secrets.tfvars
        .docker/config.json home/.docker/config.json .my.cnf .netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials
        .vault-token auth.json id_rsa id_ed25519.old deep/server.pem tls.key a.p12 .kube/config .aws/config .ssh/config
        .config/gcloud/x.db .git/config .config/gh/hosts.yml"
        .split_whitespace()
    {
        assert!(off_limits(Path::new(name)).is_some(), "{name}");
    }
    for name in "
        .env.example .env.sample .env.template .env.dist .env.local.example example.env secrets.example.yml
        credentials.json.sample src/secrets.rs secret_rules.rs credentials.py environment.ts env.rs config.json
        .docker/Dockerfile no-secrets.yaml no-credentials.test.yaml id_rsa.pub id_rsa.rs docs/secrets.md main.tf
        .github/workflows/ci.yml .gitignore package.json auth.ts secretary.json keys.json .envoy.yaml"
        .split_whitespace()
    {
        assert_eq!(off_limits(Path::new(name)), None, "{name}");
    }
}
