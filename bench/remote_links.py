#!/usr/bin/env python3
"""remote_streams between clusters: clients, a gateway and servers in network namespaces of their own, each link with a rate.

    bench/remote_links.py [--build build] [--rate 1gbit] [--mib 32] [--clients 4] [--streams 1] [--rounds 3] [--case all]
                          [--delay MS]

The plain streams and the direct ways cross the gateway as packets that its kernel passes on; the routed one goes to the router there.
So all have the same links on their way, once each. --delay is a round trip: of packets where the kernel has netem, else a relay on the
gateway holds every byte for half of it. As root, or where user namespaces are permitted.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "clusters"))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "nodes"))
import cluster  # noqa: E402
import clusters  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--rate", default="1gbit", help="of each link, as tc writes it; 0: what it gives")
    for name, otherwise in (("mib", 32), ("clients", 4), ("streams", 1), ("rounds", 3), ("delay", 0)):
        parser.add_argument("--" + name, type=int, default=otherwise)
    parser.add_argument("--case", default="all", choices=("all", "write", "read", "routed", "old"))
    return parser.parse_args()


def limit(world, rate):
    """Each of the four ends of the two links, in the direction it sends."""
    ends = ((world.nodes[clusters.NEAR0], "eth0"), (world.nodes[clusters.GATEWAY], "eth0"), (world.nodes[clusters.GATEWAY], "eth1"),
            (world.nodes[clusters.FAR0], "eth0"))
    for node, device in ends:
        node.network("tc", "qdisc", "replace", "dev", device, "root", *cluster.rate_words(rate))


def delay(world, milliseconds):
    """Half of it in each direction of the first link, before its rate. False: the kernel has no netem."""
    words = ["netem", "delay", "%fms" % (milliseconds / 2), "limit", "100000"]
    ends = ((world.switch, "ve%deth0" % clusters.NEAR0), (world.switch, "ve%deth0" % clusters.GATEWAY))
    try:
        for node, device in ends:
            node.network("tc", "qdisc", "replace", "dev", device, "root", *words)
    except subprocess.CalledProcessError:
        return False
    return True


def main():
    args = arguments()
    program = os.path.join(args.build, "bin", "remote_streams")
    if not os.path.exists(program):
        raise SystemExit("remote_links: %s is not there: make build" % program)
    with clusters.Clusters() as world:
        world.open(True)
        if args.rate != "0":
            limit(world, args.rate)
        relayed = args.delay if args.delay and not delay(world, args.delay) else 0
        if args.delay:
            print("round trip %d ms, made by %s" % (args.delay, "a relay" if relayed else "netem"), flush=True)
        network = ["/proc/%d/ns/net" % world.nodes[i].process.pid for i in (clusters.NEAR0, clusters.GATEWAY, clusters.FAR0)]
        words = [program, args.mib, args.clients, args.streams, args.rounds, args.case, network[0], network[1],
                 clusters.ADDRESSES[clusters.GATEWAY], network[2], clusters.ADDRESSES[clusters.FAR0], relayed]
        return subprocess.run([str(word) for word in words]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except clusters.CannotEmulate as reason:
        print("skipped: %s" % reason)
        sys.exit(clusters.SKIPPED)
