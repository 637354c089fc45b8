//! What secrets look like: a table, written from the formats that vendors publish for their keys
//! (prefix, alphabet, length).
//!
//! To add a rule: one line, with a keyword that stands in every text the rule could match. A token
//! with a prefix of its own is a [`token`]; a value that only its name betrays is [`assigned`].
//! Regexes have no look-around; what may stand before and after is the form's matter. Tests make
//! secrets from every rule.

/// A rule.
pub(super) struct Rule {
    /// Named in outcomes.
    pub(super) name: &'static str,
    /// Words of which one is in every text that the regex could match: lowercase, one blank
    /// between.
    pub(super) keywords: &'static str,
    pub(super) form: Form,
    /// The least entropy of the secret, in bits a character.
    pub(super) entropy: f64,
    /// The secret has both letters and digits.
    pub(super) mixed: bool,
    /// The secret may be a word: those that stand where nobody has written a password are none.
    pub(super) word: bool,
}

/// How a rule's regex is meant.
pub(super) enum Form {
    /// A token by itself, with nothing of it before or after.
    Token(&'static str),
    /// A value that stands after a name and `=` or `:`.
    Assigned {
        /// The beginning of the name, whatever its case.
        name: &'static str,
        /// The value.
        value: &'static str,
    },
    /// As it is; the secret is the first group.
    Whole(&'static str),
}

const fn token(name: &'static str, keywords: &'static str, regex: &'static str) -> Rule {
    Rule {
        name,
        keywords,
        form: Form::Token(regex),
        entropy: 2.8,
        mixed: false,
        word: false,
    }
}

const fn assigned(
    name: &'static str,
    keywords: &'static str,
    start: &'static str,
    value: &'static str,
) -> Rule {
    Rule {
        name,
        keywords,
        form: Form::Assigned { name: start, value },
        entropy: 3.0,
        mixed: false,
        word: false,
    }
}

const fn whole(
    name: &'static str,
    keywords: &'static str,
    regex: &'static str,
    entropy: f64,
) -> Rule {
    Rule {
        name,
        keywords,
        form: Form::Whole(regex),
        entropy,
        mixed: false,
        word: false,
    }
}

const UUID: &str = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

/// The name of a password that is held for something: `db_password`, `SMTP_PASS`,
/// `spring.datasource.password`.
macro_rules! holder {
    () => {
        r"(?:[a-z0-9]{1,30}[_.-]){0,4}(?:db|database|dbms|jdbc|datasource|sql|mysql|mariadb|mssql|sa|oracle|pg|postgres|postgresql|psql|mongo|mongodb|redis|neo4j|couchdb|cassandra|clickhouse|snowflake|influxdb|elastic|elasticsearch|rabbitmq|amqp|kafka|smtp|mail|mailer|email|imap|ftp|sftp|ssh|ldap|vpn|wifi|http|https|proxy|admin|root|sudo|become|user|service|svc|app|api|registry|docker|jenkins|grafana|keycloak|sonar|nexus|minio|wordpress|keystore|truststore|key|cert|ssl|tls|backup|replication|login|auth|account|client|server|master|vault)(?:[_.-][a-z0-9]{1,30}){0,2}?[_.-]?(?:password|passwd|passphrase|pwd|pass)[0-9]{0,2}"
    };
}

/// Every rule.
pub(super) const RULES: &[Rule] = &[
    // Whatever the vendor.
    whole(
        "private-key",
        "private",
        // A key that is cut off before its end is still one.
        r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[^\x00]{64,}?-----END[ A-Z0-9_-]{0,100}-----|[A-Za-z0-9+/=\s\\]{64,})",
        0.0,
    ),
    whole(
        "putty-private-key",
        "private-lines",
        r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{1,64}\s*)+)",
        0.0,
    ),
    whole(
        "jwt",
        "eyj",
        r"(?-u:\b)(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
        3.0,
    ),
    whole(
        "url-password",
        "://",
        r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:@/'\x22]{0,100}:([^\s:@/'\x22$<>{}\[\]]{3,200})@[A-Za-z0-9\[]",
        1.5,
    ),
    whole(
        "authorization-header",
        "authorization",
        r#"(?i)authorization[\\"']{0,3}[ \t]{0,3}[:=][ \t]{0,3}[\\"']{0,3}(?:bearer|basic|token|apikey|bot)[ \t]+([A-Za-z0-9_.~+/=-]{12,4096})"#,
        3.0,
    ),
    whole(
        "curl-user",
        "curl",
        r#"(?-u:\b)curl\b[^\n|;&]{0,200}?\s(?:-u|--user)[ =]?["']?[^\s:"'$]{1,100}:([^\s"'$]{3,200})"#,
        2.0,
    ),
    Rule {
        name: "generic-credential",
        keywords: "password passwd pwd secret token apikey api_key api-key access_key access-key private_key auth_key credential pass",
        form: Form::Assigned {
            name: r"(?:password|passwd|(?-u:\b|_)pwd|(?-u:\b|_)pass|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|credentials?)",
            value: r"[A-Za-z0-9!@#%^&*+/=_.~-]{10,150}",
        },
        entropy: 3.5,
        mixed: true,
        word: false,
    },
    Rule {
        name: "short-password",
        keywords: "password passwd passphrase pwd",
        form: Form::Whole(
            r#"(?i:password|passwd|passphrase|(?-u:\b|_)pwd)s?[0-9]{0,2}[\\"'`\]]{0,8}[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}\[?[\\"'`]{0,8}([^\s\\"'`,;&|()\[\]{}<>$]{6,11}|[^\s\\"'`,;&|()\[\]{}<>$./]{12,20})(?:["'`\s\\;,)\[\]}&<|]|$)"#,
        ),
        entropy: 2.5,
        mixed: true,
        word: false,
    },
    Rule {
        name: "quoted-password",
        keywords: "password passwd passphrase pwd",
        form: Form::Whole(
            r#"(?i:password|passwd|passphrase|(?-u:\b|_)pwd)s?[0-9]{0,2}[\\"'`\]]{0,8}[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}\[?\\{0,7}["']([A-Za-z!@#^*+=_~-]{6,64})\\{0,7}["']"#,
        ),
        entropy: 2.0,
        mixed: false,
        word: true,
    },
    Rule {
        name: "plain-password",
        keywords: "password passwd passphrase pwd",
        // In code such a word is a name: it ends a line here, or an assignment without blanks.
        form: Form::Whole(
            r#"(?m)(?i:password|passwd|passphrase|(?-u:\b|_)pwd)s?[0-9]{0,2}["']{0,1}(?:=|[ \t]{0,3}:[ \t]{1,3})([a-z@#^+~-][a-z!@#^*+~-]{5,39})(?:\r?$|["'\\]|=?[ &;])"#,
        ),
        entropy: 2.0,
        mixed: false,
        word: true,
    },
    whole(
        "number-password",
        "password passwd passphrase pwd",
        r#"(?i:password|passwd|passphrase|(?-u:\b|_)pwd)s?[0-9]{0,2}[\\"'`]{0,8}[ \t]{0,3}[:=][ \t]{0,3}[\\"'`]{0,8}([0-9]{6,20})(?:[\s\\"'`,;&}\]]|$)"#,
        1.5,
    ),
    Rule {
        name: "password-below",
        keywords: "password passwd passphrase pwd",
        form: Form::Whole(
            r#"(?m)(?i:password|passwd|passphrase|(?-u:\b|_)pwd)["']?:[ \t]{0,3}(?:[>|]-?[ \t]{0,3})?\r?\n[ \t]{1,20}([^\s\\"'`,;&|()\[\]{}<>$:]{6,100})[ \t]{0,3}\r?$"#,
        ),
        entropy: 2.0,
        mixed: true,
        word: false,
    },
    whole(
        "named-password",
        "password passwd passphrase secret apikey api_key api-key token",
        // As lists of variables, properties and forms have it: the name and the value beside each
        // other.
        r#"(?i)(?:name|key|id)[\\"']{0,8}[ \t]{0,3}[:=]\s{0,20}[\\"']{0,8}[a-z0-9_.-]{0,40}(?:password|passwd|passphrase|secret|api[_-]?key|token)[0-9]{0,2}[\\"']{0,8}[,\s]{1,40}[\\"']{0,8}value[\\"']{0,8}[ \t]{0,3}[:=]\s{0,20}[\\"']{1,8}([^\s"'\\<>$%{}\[\]]{4,200})[\\"']"#,
        1.5,
    ),
    whole(
        "plist-password",
        "password passwd passphrase secret apikey api_key token",
        r"(?i)<key>[^<>]{0,40}(?:password|passwd|passphrase|secret|api[_-]?key|token)[0-9]{0,2}</key>\s{0,40}<string>([^\s<>$%{}\[\]]{4,200})</string>",
        1.5,
    ),
    whole(
        "mysql-password",
        "mysql mariadb",
        r#"(?-u:\b)(?:mysql|mariadb)(?:dump|admin|import|show|check)?(?-u:\b)[^\n|;&]{0,200}?\s-p["']?([^\s"'`$<>|;&(){}\[\]-][^\s"'`$<>|;&(){}\[\]]{3,100})"#,
        1.5,
    ),
    whole(
        "login-password",
        "sshpass login",
        r#"(?-u:\b)(?:sshpass(?-u:\b)|(?:docker|podman|nerdctl|helm registry|buildah|skopeo|oc|az|cf)\s{1,5}login(?-u:\b))[^\n|;&]{0,200}?\s-p[ =]{0,3}["']?([^\s"'`$<>|;&(){}\[\]-][^\s"'`$<>|;&(){}\[\]]{3,100})"#,
        1.5,
    ),
    whole(
        "shell-password",
        "password passwd passphrase",
        r#"(?:^|[\s;])set\s{1,5}(?:-[a-zA-Z]{1,5}\s{1,5}){1,3}[A-Za-z0-9_]{0,30}(?i:password|passwd|passphrase)[0-9]{0,2}\s{1,5}["']?([^\s"'`$()]{4,100})"#,
        1.5,
    ),
    whole(
        "sql-password",
        "identified password",
        r#"(?i)(?:identified\s{1,5}by|with\s{1,5}(?:encrypted\s{1,5})?password)\s{1,5}["']([^\s"'$<>{}]{4,100})["']"#,
        1.5,
    ),
    whole(
        "option-password",
        "-pass --pwd --token --secret --api-key --apikey --access-token --auth-token --client-secret",
        // A word in capitals stands for a value, as in a usage text.
        r#"(?:^|[\s"'`\[(])--(?:(?:(?:http|ftp|proxy|db|admin|user|smtp|root|auth|login|registry|store|key)-)?(?:password|passwd|passphrase|pass)|pwd|token|secret|api-?key|access-token|auth-token|client-secret)(?:=|[ \t]+)["']?([^\s"'`$<>|;&(){}\[\]-][^\s"'`$<>|;&(){}\[\]]{0,100}?[a-z0-9][^\s"'`$<>|;&(){}\[\]]{0,100})"#,
        1.5,
    ),
    whole(
        "xml-password",
        "password passwd passphrase secret apikey api_key token",
        r"(?i)<(?:[a-z0-9_-]{1,40}:)?(?:password|passwd|passphrase|pwd|secret|client[_-]?secret|api[_-]?key|token|auth[_-]?token)(?:\s[^<>]{0,200})?>\s{0,20}(?:<!\[CDATA\[)?([^\s<>$%{}\[\]]{4,200})(?:\]\]>)?\s{0,20}</",
        1.5,
    ),
    whole(
        "netrc-password",
        // What it begins with, `default`, is in many a text that is about no password.
        "password passwd",
        // On one line or several; a text that a shell writes stands between quotes.
        r#"(?i)(?:^|[\s"'`]|\\[nrt])(?:machine\s{1,20}\S{1,200}|default)(?:\s{1,20}(?:login|account|user)\s{1,20}\S{1,200}){1,2}\s{1,20}passw(?:or)?d\s{1,20}([^\s\[\]]{1,200}?)["'`]?(?:[\s\\;|&>]|$)"#,
        0.0,
    ),
    whole(
        "netrc-password-first",
        "password passwd",
        r#"(?im)(?:^|["'`]|\\[nrt])machine\s{1,20}\S{1,200}\s{1,20}passw(?:or)?d\s{1,20}([^\s\[\]]{1,200}?)(?:\s{1,20}(?:login|account|user)\s|["'`]|[ \t]{0,20}(?:\r?$|\\[nrt]))"#,
        0.0,
    ),
    Rule {
        name: "holder-password",
        keywords: "pass pwd",
        // On a line of YAML or properties. A word alone would be a type or a name in code: the name
        // says that it is held for something.
        form: Form::Whole(concat!(
            r#"(?im)(?:^|[\s"'`,{]|\\[nrt])"#,
            holder!(),
            r#"["'`]?[ \t]{0,3}(?::[ \t]{1,3}["']?([^\s"'`\\$<>{}\[\]()|&;,*!/~.-][^\s"'`\\$<>{}\[\]()|&;,]{3,63})["']?)[ \t]{0,20}(?:#[^\n]{0,200})?(?:\r?$|\\[nr])"#
        )),
        entropy: 1.0,
        mixed: false,
        word: true,
    },
    Rule {
        name: "holder-password-assigned",
        keywords: "pass pwd",
        form: Form::Whole(concat!(
            r#"(?im)(?:^|[\s"'`,{]|\\[nrt])"#,
            holder!(),
            r#"(?:=["']?|["'][ \t]{0,3}:[ \t]{0,3}["']|\\{1,7}["'][ \t]{0,3}:[ \t]{0,3}\\{1,7}["'])([^\s"'`\\$<>{}\[\]()|&;,*/~.-](?-i:[^\s"'`\\$<>{}\[\]()|&;,]{0,60}[a-z0-9][^\s"'`\\$<>{}\[\]()|&;,]{0,60}))(?:["'`\s;&|\\]|$)"#
        )),
        entropy: 1.0,
        mixed: false,
        word: true,
    },
    Rule {
        name: "cookie-header",
        keywords: "cookie curl",
        form: Form::Whole(
            r#"(?i)(?:(?-u:\b)(?:set-)?cookies?[\\"'`]{0,8}[ \t]{0,3}[:=]|--cookie|(?-u:\b)curl\b[^\n|;&]{0,200}?\s-b)[ \t=]{0,3}[\\"'`]{0,8}((?:[a-z0-9!#$%&*+.^_|~-]{1,64}=[^;\s\\"'`]*;[ \t]*)*[a-z0-9_.-]{0,40}(?:sess|sid|auth|token|jwt|csrf|xsrf|login|remember)[a-z0-9_.-]{0,40}=[^;\s\\"'`,<>{}$]{8,}(?:;[ \t]*[a-z0-9!#$%&*+.^_|~-]{1,64}=[^;\s\\"'`]*)*)"#,
        ),
        entropy: 3.0,
        mixed: true,
        word: false,
    },
    Rule {
        name: "session-cookie",
        keywords: "jsessionid phpsessid connect.sid laravel_session asp.net_sessionid",
        form: Form::Assigned {
            name: r"(?:jsessionid|phpsessid|connect\.sid|laravel_session|asp\.net_sessionid)",
            value: "[A-Za-z0-9%._~+/!:-]{16,1000}",
        },
        entropy: 3.0,
        mixed: true,
        word: false,
    },
    // A line of PostgreSQL's password file: host:port:database:user:password.
    whole(
        "pgpass-password",
        ":5432: :5433: :*:",
        r"(?m)(?:^|\\n)[^\s:#\\]{1,200}:(?:543[23]|\*):[^\s:\\]{1,100}:[^\s:\\]{1,100}:([^\s:\\]{4,200})(?:\r?$|\\n)",
        1.5,
    ),
    // Models.
    token(
        "anthropic-key",
        "sk-ant-",
        "sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{80,120}",
    ),
    token(
        "openai-key",
        "sk-proj- sk-svcacct- sk-admin-",
        "sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}",
    ),
    token(
        "openai-key-old",
        "t3blbkfj",
        "sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    token("deepseek-key", "sk-", "sk-[0-9a-f]{32}"),
    token("openrouter-key", "sk-or-v1-", "sk-or-v1-[0-9a-f]{64}"),
    token(
        "huggingface-token",
        "hf_ api_org_",
        "(?:hf|api_org)_[A-Za-z]{34}",
    ),
    token("replicate-token", "r8_", "r8_[A-Za-z0-9]{37}"),
    token("groq-key", "gsk_", "gsk_[A-Za-z0-9]{52}"),
    token("xai-key", "xai-", "xai-[A-Za-z0-9]{80}"),
    token("perplexity-key", "pplx-", "pplx-[A-Za-z0-9]{48}"),
    token(
        "langsmith-key",
        "lsv2_",
        "lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    ),
    token("pinecone-key", "pcsk_", "pcsk_[A-Za-z0-9_]{50,80}"),
    token("nvidia-key", "nvapi-", "nvapi-[A-Za-z0-9_-]{64}"),
    token(
        "tavily-key",
        "tvly-",
        "tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,40}",
    ),
    token("elevenlabs-key", "sk_", "sk_[0-9a-f]{48}"),
    token("cerebras-key", "csk-", "csk-[a-z0-9]{48}"),
    assigned(
        "cohere-key",
        "cohere co_api",
        "(?:cohere|co_api)",
        "[A-Za-z0-9]{40}",
    ),
    assigned("mistral-key", "mistral", "mistral", "[A-Za-z0-9]{32}"),
    assigned("wandb-key", "wandb", "wandb", "[0-9a-f]{40}"),
    // Clouds.
    token(
        "aws-access-key-id",
        "akia asia abia acca",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    ),
    assigned(
        "aws-secret-key",
        "aws secretaccesskey secret_access_key",
        "(?:aws_?|secret_?access)",
        "[A-Za-z0-9/+]{40}",
    ),
    assigned(
        "aws-session-token",
        "session_token sessiontoken",
        "session_?token",
        "[A-Za-z0-9/+]{100,1200}={0,2}",
    ),
    token(
        "aws-bedrock-key",
        "absk",
        "ABSK[A-Za-z0-9+/]{109,269}={0,2}",
    ),
    assigned(
        "azure-storage-key",
        "accountkey",
        "AccountKey",
        "[A-Za-z0-9+/]{86}==",
    ),
    // It may begin with a dot or a tilde, before which no word ends.
    whole(
        "azure-client-secret",
        "q~",
        r#"(?:^|[^A-Za-z0-9_~.-]|\\[nrt])([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})(?:[^A-Za-z0-9_-]|$)"#,
        2.8,
    ),
    whole(
        "azure-signature",
        "sig=",
        r"[?&]sig=([A-Za-z0-9%+/]{40,80}(?:%3D|=))",
        3.0,
    ),
    token("google-api-key", "aiza", "AIza[A-Za-z0-9_-]{35}"),
    token("google-oauth-secret", "gocspx-", "GOCSPX-[A-Za-z0-9_-]{28}"),
    token(
        "google-oauth-token",
        "ya29.",
        r"ya29\.[A-Za-z0-9_-]{30,500}",
    ),
    token("alibaba-access-key", "ltai", "LTAI[A-Za-z0-9]{20}"),
    token("tencent-secret-id", "akid", "AKID[A-Za-z0-9]{32}"),
    token(
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        "do[opr]_v1_[0-9a-f]{64}",
    ),
    token("heroku-key", "hrku-", "HRKU-[A-Za-z0-9_-]{36,60}"),
    token("fly-token", "fo1_", "fo1_[A-Za-z0-9_-]{43}"),
    token(
        "fly-macaroon",
        "fm1r_ fm1a_ fm2_",
        "(?:fm1[ra]|fm2)_[A-Za-z0-9+/]{100,1000}={0,3}",
    ),
    token(
        "cloudflare-origin-key",
        "v1.0-",
        r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
    ),
    assigned(
        "cloudflare-token",
        "cloudflare cf_api",
        "(?:cloudflare|cf_api)",
        "[A-Za-z0-9_-]{40}",
    ),
    assigned(
        "cloudflare-global-key",
        "cloudflare cf_api",
        "(?:cloudflare|cf_api)",
        "[0-9a-f]{37}",
    ),
    token("netlify-token", "nfp_", "nfp_[A-Za-z0-9]{36}"),
    token("render-key", "rnd_", "rnd_[A-Za-z0-9]{28,40}"),
    assigned("vercel-token", "vercel", "vercel", "[A-Za-z0-9]{24}"),
    assigned("linode-token", "linode", "linode", "[0-9a-f]{64}"),
    token("scaleway-key", "scw", "SCW[A-Z0-9]{17}"),
    token(
        "yandex-cloud-token",
        "t1.",
        r"t1\.[A-Za-z0-9_-]{10,400}={0,2}\.[A-Za-z0-9_-]{86}={0,2}",
    ),
    token("yandex-key", "aqvn", "AQVN[A-Za-z0-9_-]{35,38}"),
    assigned("ibm-cloud-key", "ibm", "ibm", "[A-Za-z0-9_-]{44}"),
    token("openshift-token", "sha256~", "sha256~[A-Za-z0-9_-]{43}"),
    token("akamai-token", "akab-", "akab-[a-z0-9]{16}-[a-z0-9]{16}"),
    assigned("fastly-token", "fastly", "fastly", "[A-Za-z0-9_-]{32}"),
    // Secret stores and infrastructure.
    token("vault-token", "hvs.", r"hvs\.[A-Za-z0-9_-]{90,200}"),
    token("vault-batch-token", "hvb.", r"hvb\.[A-Za-z0-9_-]{130,300}"),
    token(
        "terraform-token",
        "atlasv1",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
    ),
    token("pulumi-token", "pul-", "pul-[0-9a-f]{40}"),
    token(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    token(
        "onepassword-service-token",
        "ops_eyj",
        "ops_eyJ[A-Za-z0-9+/]{200,1000}={0,3}",
    ),
    token(
        "onepassword-secret-key",
        "a3-",
        "A3-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    token(
        "age-secret-key",
        "age-secret-key-1",
        "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    token("okta-token", "ssws", "SSWS 00[A-Za-z0-9_-]{40}"),
    assigned("okta-key", "okta", "okta", "00[A-Za-z0-9_-]{40}"),
    // Data.
    token("databricks-token", "dapi", "dapi[0-9a-f]{32}(?:-[0-9])?"),
    token(
        "planetscale-secret",
        "pscale_",
        r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{32,64}",
    ),
    token("neon-key", "napi_", "napi_[a-z0-9]{64}"),
    token("supabase-token", "sbp_", "sbp_[0-9a-f]{40}"),
    token(
        "supabase-secret-key",
        "sb_secret_",
        "sb_secret_[A-Za-z0-9_-]{31,60}",
    ),
    token("clickhouse-secret", "4b1d", "4b1d[A-Za-z0-9]{38}"),
    assigned(
        "confluent-secret",
        "confluent",
        "confluent",
        "[A-Za-z0-9/+]{64}",
    ),
    assigned("algolia-key", "algolia", "algolia", "[0-9a-f]{32}"),
    token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    token("contentful-token", "cfpat-", "CFPAT-[A-Za-z0-9_-]{43}"),
    // Watching.
    token(
        "dynatrace-token",
        "dt0",
        r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    ),
    token("newrelic-user-key", "nrak-", "NRAK-[A-Z0-9]{27}"),
    token("newrelic-insert-key", "nrii-", "NRII-[A-Za-z0-9-]{32}"),
    token("newrelic-license-key", "nral", "[0-9a-f]{36}NRAL"),
    assigned(
        "datadog-key",
        "datadog dd_api dd_app",
        "(?:datadog|dd_api|dd_app)",
        "(?:[0-9a-f]{40}|[0-9a-f]{32})",
    ),
    token("sentry-user-token", "sntryu_", "sntryu_[0-9a-f]{64}"),
    token(
        "sentry-org-token",
        "sntrys_eyj",
        "sntrys_eyJ[A-Za-z0-9+/]{80,400}={0,2}_[A-Za-z0-9+/]{43}",
    ),
    token(
        "grafana-service-token",
        "glsa_",
        "glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}",
    ),
    token(
        "grafana-cloud-token",
        "glc_",
        "glc_[A-Za-z0-9+/]{32,400}={0,3}",
    ),
    token("posthog-key", "phx_", "phx_[A-Za-z0-9]{43}"),
    token(
        "honeycomb-key",
        "hcaik_ hcbik_ hccik_ hcalk_ hcblk_ hcclk_",
        "hc[abc](?:ik|lk)_[a-z0-9]{58}",
    ),
    token(
        "launchdarkly-key",
        "sdk- mob- api-",
        "(?:sdk|mob|api)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    assigned("sumologic-key", "sumo", "sumo", "[A-Za-z0-9]{64}"),
    // Code and packages.
    token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        "gh[pousr]_[A-Za-z0-9]{36,255}",
    ),
    token(
        "github-fine-grained-token",
        "github_pat_",
        "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    ),
    token(
        "gitlab-token",
        "glpat- gldt- glft- glrt- glsoat- glcbt- glptt- glimt- glagent- gloas- glffct-",
        r"gl(?:pat|dt|ft|rt|soat|cbt|ptt|imt|agent|oas|ffct)-[A-Za-z0-9_=-]{20,300}(?:\.[A-Za-z0-9_-]{2,30}){0,3}",
    ),
    token(
        "gitlab-runner-token",
        "gr1348941",
        "GR1348941[A-Za-z0-9_-]{20}",
    ),
    token("bitbucket-app-password", "atbb", "ATBB[A-Za-z0-9]{32}"),
    token("atlassian-token", "atatt3", "ATATT3[A-Za-z0-9_=-]{180,200}"),
    token(
        "bitbucket-repository-token",
        "atctt3xff",
        "ATCTT3xFf[A-Za-z0-9_=-]{150,200}",
    ),
    token("npm-token", "npm_", "npm_[A-Za-z0-9]{36}"),
    token("pypi-token", "pypi-age", "pypi-AgE[A-Za-z0-9_-]{60,1000}"),
    token("rubygems-key", "rubygems_", "rubygems_[0-9a-f]{48}"),
    token("crates-io-token", "cio", "cio[A-Za-z0-9]{32}"),
    token("clojars-token", "clojars_", "CLOJARS_[a-z0-9]{60}"),
    token("nuget-key", "oy2", "oy2[a-z0-9]{43}"),
    token(
        "docker-token",
        "dckr_pat_ dckr_oat_",
        "dckr_[po]at_[A-Za-z0-9_-]{27,32}",
    ),
    token("artifactory-key", "akcp", "AKCp[A-Za-z0-9]{69}"),
    token(
        "artifactory-reference-token",
        "cmvmdgtuo",
        "cmVmdGtuO[A-Za-z0-9]{50,64}",
    ),
    token("sonar-token", "sqp_ squ_ sqa_", "sq[pua]_[0-9a-f]{40}"),
    token(
        "circleci-token",
        "ccipat_ ccipra_",
        "CCIP(?:AT|RA)_[A-Za-z0-9]{22}_[0-9a-f]{40}",
    ),
    token("buildkite-token", "bkua_", "bkua_[0-9a-f]{40}"),
    assigned("codecov-token", "codecov", "codecov", UUID),
    assigned("snyk-token", "snyk", "snyk", UUID),
    assigned("travis-token", "travis", "travis", "[A-Za-z0-9]{22}"),
    token(
        "sourcegraph-token",
        "sgp_",
        "sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}",
    ),
    token("postman-key", "pmak-", "PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    token("readme-key", "rdme_", "rdme_[a-z0-9]{70}"),
    token("prefect-key", "pnu_", "pnu_[A-Za-z0-9]{36}"),
    // Offices.
    token("linear-key", "lin_api_", "lin_api_[A-Za-z0-9]{40}"),
    token("linear-oauth-token", "lin_oauth_", "lin_oauth_[0-9a-f]{64}"),
    token("notion-token", "ntn_", "ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    token("notion-token-old", "secret_", "secret_[A-Za-z0-9]{43}"),
    token("figma-token", "figd_", "figd_[A-Za-z0-9_-]{40,60}"),
    assigned(
        "asana-token",
        "asana",
        "asana",
        "[0-9]/[0-9]{16}:[0-9a-f]{32}",
    ),
    token(
        "hubspot-token",
        "pat-na pat-eu",
        "pat-(?:na|eu)[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    token("typeform-token", "tfp_", r"tfp_[A-Za-z0-9_.-]{59}"),
    token("adobe-secret", "p8e-", "p8e-[A-Za-z0-9_-]{32}"),
    token("frameio-token", "fio-u-", "fio-u-[A-Za-z0-9_=-]{64}"),
    assigned("zendesk-key", "zendesk", "zendesk", "[A-Za-z0-9]{40}"),
    assigned("intercom-key", "intercom", "intercom", "[A-Za-z0-9=_-]{60}"),
    // Messages and mail.
    token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe.",
        r"xox[abeprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,250}",
    ),
    token(
        "slack-app-token",
        "xapp-",
        "xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[0-9a-f]{60,70}",
    ),
    whole(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9+/]{40,80})",
        0.0,
    ),
    whole(
        "discord-webhook",
        "discord",
        r"discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,70})",
        0.0,
    ),
    whole(
        "discord-bot-token",
        "discord",
        r"(?-u:\b)([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})",
        3.0,
    ),
    whole(
        "teams-webhook",
        "webhook.office.com",
        r"webhook\.office\.com/(webhookb2/[A-Za-z0-9@/_-]{60,250})",
        0.0,
    ),
    whole(
        "telegram-bot-token",
        ":aa",
        r"(?-u:\b)([0-9]{8,10}:AA[A-Za-z0-9_-]{33})",
        3.0,
    ),
    token("twilio-api-key", "sk", "SK[0-9a-f]{32}"),
    assigned("twilio-secret", "twilio", "twilio", "(?:SK)?[0-9a-f]{32}"),
    token(
        "sendgrid-key",
        "sg.",
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    ),
    token("mailgun-key", "key-", "key-[0-9a-f]{32}"),
    token("mailchimp-key", "-us", "[0-9a-f]{32}-us[0-9]{1,2}"),
    token(
        "brevo-key",
        "xkeysib- xsmtpsib-",
        "x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    ),
    token("resend-key", "re_", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    assigned("postmark-token", "postmark", "postmark", UUID),
    assigned(
        "mattermost-token",
        "mattermost",
        "mattermost",
        "[a-z0-9]{26}",
    ),
    token("facebook-token", "eaa", "EAA[A-Za-z0-9]{100,250}"),
    token(
        "twitter-bearer-token",
        "aaaaaaaaaaaaaaaaaaaaaa",
        "A{22}[A-Za-z0-9%]{80,100}",
    ),
    assigned("twitch-token", "twitch", "twitch", "[a-z0-9]{30}"),
    assigned("linkedin-secret", "linkedin", "linkedin", "[A-Za-z0-9]{16}"),
    // Money and parcels.
    token(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_",
        "[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}",
    ),
    token(
        "stripe-webhook-secret",
        "whsec_",
        "whsec_[A-Za-z0-9+/]{32,64}={0,2}",
    ),
    token(
        "square-token",
        "sq0atp- sq0csp-",
        "sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})",
    ),
    token("square-access-token", "eaaa", "EAAA[A-Za-z0-9_-]{60}"),
    whole(
        "braintree-token",
        "access_token$",
        r"(access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32})",
        3.0,
    ),
    token(
        "plaid-token",
        "access-",
        "access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    token(
        "shopify-token",
        "shpat_ shpca_ shppa_ shpss_",
        "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    token(
        "flutterwave-key",
        "flwseck",
        "FLWSECK(?:_TEST)?-[0-9a-z]{12,32}(?:-X)?",
    ),
    token("razorpay-key", "rzp_", "rzp_(?:live|test)_[A-Za-z0-9]{14}"),
    token(
        "mercadopago-token",
        "app_usr-",
        "APP_USR-[0-9]{13,16}-[0-9]{6}-[0-9a-f]{32}-[0-9]{6,10}",
    ),
    token("lob-key", "live_ test_", "(?:live|test)_[0-9a-f]{35}"),
    token("easypost-key", "ezak eztk", "EZ[AT]K[A-Za-z0-9]{54}"),
    token(
        "shippo-token",
        "shippo_",
        "shippo_(?:live|test)_[0-9a-f]{40}",
    ),
    token(
        "duffel-token",
        "duffel_",
        "duffel_(?:test|live)_[A-Za-z0-9_=-]{43}",
    ),
    token(
        "mapbox-secret-token",
        "sk.eyj",
        r"sk\.eyJ[A-Za-z0-9_-]{60,200}\.[A-Za-z0-9_-]{22}",
    ),
    token("maxmind-key", "_mmk", "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    assigned("coinbase-key", "coinbase", "coinbase", "[A-Za-z0-9_-]{64}"),
    assigned("kraken-key", "kraken", "kraken", "[A-Za-z0-9/=_+-]{80,90}"),
];
