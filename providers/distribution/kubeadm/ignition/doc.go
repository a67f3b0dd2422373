// Package ignition makes Ignition configs: it reads what people write for
// ignition.containerLinuxConfig.additionalConfig, merges it into a config and
// holds the result against Ignition's own rules.
//
// Additions are Container Linux Configs, as in Cluster API, or Butane configs,
// which say so with variant. Ignition runs once, at the first boot, so what it
// would not read is found here and not there: an unknown field is an error.
//
// Cluster API writes specification 2.3, which Fedora CoreOS does not read. This
// is 3.3, the oldest that every maintained Flatcar and Fedora CoreOS reads, or
// 3.4 where an addition asks for it.
// Source: coreos.github.io/ignition/specs, coreos.github.io/butane/specs.
package ignition
