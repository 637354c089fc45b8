//! Which addresses and ports are out of reach without a grant: everything that is set apart from
//! the public internet, and the ports of other protocols and data stores.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is out of reach; `None` when it is not.
pub(super) fn refusal(ip: IpAddr, loopback: bool) -> Option<&'static str> {
    if loopback && ip.to_canonical().is_loopback() {
        return None;
    }
    special_kind(ip)
}

/// What sets an address apart from the public internet; `None` for a public one.
/// Forms that carry an IPv4 address are judged by it.
fn special_kind(ip: IpAddr) -> Option<&'static str> {
    let ip = match ip.to_canonical() {
        IpAddr::V4(ip) => return special_v4(ip),
        IpAddr::V6(ip) => ip,
    };
    let pair = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match ip.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return special_v4(pair(high, low)),
        [0x2002, high, low, ..] => return special_v4(pair(high, low)),
        _ => {}
    }
    let listed = SPECIAL_V6
        .iter()
        .find(|(net, bits, _)| (u128::from(ip) ^ u128::from(*net)) >> (128 - bits) == 0);
    match listed {
        Some((.., kind)) => Some(kind),
        // Only 2000::/3 has been given out.
        None if ip.segments()[0] >> 13 != 1 => Some("a reserved address"),
        None => None,
    }
}

fn special_v4(ip: Ipv4Addr) -> Option<&'static str> {
    SPECIAL_V4
        .iter()
        .find(|(net, bits, _)| (u32::from(ip) ^ u32::from(*net)) >> (32 - bits) == 0)
        .map(|(.., kind)| *kind)
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

/// The first row that fits names the kind.
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (v4(0, 0, 0, 0), 8, "an address of this host"),
    (v4(10, 0, 0, 0), 8, "a private address"),
    (v4(100, 64, 0, 0), 10, "a shared address"),
    (v4(127, 0, 0, 0), 8, "a loopback address"),
    (v4(168, 63, 129, 16), 32, "a cloud metadata address"),
    (v4(169, 254, 0, 0), 16, "a link-local address"),
    (v4(172, 16, 0, 0), 12, "a private address"),
    (v4(192, 0, 0, 0), 24, "a protocol address"),
    (v4(192, 0, 2, 0), 24, "a documentation address"),
    (v4(192, 168, 0, 0), 16, "a private address"),
    (v4(198, 18, 0, 0), 15, "a benchmarking address"),
    (v4(198, 51, 100, 0), 24, "a documentation address"),
    (v4(203, 0, 113, 0), 24, "a documentation address"),
    (v4(224, 0, 0, 0), 4, "a multicast address"),
    (v4(255, 255, 255, 255), 32, "the broadcast address"),
    (v4(240, 0, 0, 0), 4, "a reserved address"),
];

const fn v6(a: u16, b: u16, c: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::UNSPECIFIED, 128, "an address of this host"),
    (v6(0, 0, 0), 96, "an IPv4-compatible address"),
    (v6(0x64, 0xff9b, 1), 48, "a local NAT64 address"),
    (v6(0x2001, 0, 0), 32, "a Teredo address"),
    (v6(0x2001, 0, 0), 23, "a protocol address"),
    (v6(0x2001, 0xdb8, 0), 32, "a documentation address"),
    (v6(0x3fff, 0, 0), 20, "a documentation address"),
    (v6(0xfc00, 0, 0), 7, "a private address"),
    (v6(0xfe80, 0, 0), 10, "a link-local address"),
    (v6(0xff00, 0, 0), 8, "a multicast address"),
];

/// Sorted. The WHATWG list of bad ports, and beyond it data stores and control
/// planes that take a POST, or a stream that holds one, for commands: SQL
/// Server, Oracle, ZooKeeper, Docker, etcd, MySQL, PostgreSQL, CouchDB, Redis,
/// Cassandra, Kafka, Elasticsearch, kubelet, Memcached, MongoDB, RethinkDB.
#[rustfmt::skip]
pub(super) const BLOCKED_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3659, 4045,
    4190, 5060, 5061, 5432, 5984, 6000, 6379, 6380, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
    9042, 9092, 9160, 9200, 9300, 10080, 10250, 11211, 27017, 27018, 27019, 28015,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses() {
        let check = |public: bool, list: &str| {
            for ip in list.split_whitespace() {
                assert_eq!(special_kind(ip.parse().unwrap()).is_none(), public, "{ip}");
            }
        };
        check(
            false,
            "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1
             127.255.255.255 168.63.129.16 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255
             192.0.0.0 192.0.0.255 192.0.2.255 192.168.0.0 192.168.255.255 198.18.0.0
             198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.255 240.0.0.0
             255.255.255.255 :: ::1 ::2 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::10.0.0.1
             64:ff9b:1::8.8.8.8 64:ff9b:2::1 100::1 1fff:: 2001::1 2001:2::1 2001:1ff:ffff::
             2001:db8::1 2001:db8:ffff:: 2002:a00:1::1 2002:a9fe:a9fe:: 3fff::1 3fff:fff:ffff::
             4000:: 5f00::1 fc00:: fdff:: fd00:ec2::254 fe80::1 febf:: fec0::1 ff02::1",
        );
        check(
            true,
            "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
             168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
             191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255
             198.20.0.0 198.51.99.255 203.0.114.0 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
             2000:: 2001:200:: 2001:db7:ffff:: 2001:db9:: 2002:808:808:: 2003:: 3ffe:: 3fff:1000::",
        );
    }

    #[test]
    fn tables_are_in_order() {
        assert!(BLOCKED_PORTS.is_sorted_by(|a, b| a < b));
    }
}
