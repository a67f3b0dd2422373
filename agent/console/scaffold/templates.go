package scaffold

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fairlead.dev/fleet-examples/clusterclass"
	"fairlead.dev/fleet-examples/hosted"
	"fairlead.dev/fleet-examples/hosts"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/fleet-examples/k3s"
	"fairlead.dev/fleet-examples/metal3"
	"fairlead.dev/fleet-examples/mixed"
	"fairlead.dev/fleet-examples/openstack"
	"fairlead.dev/fleet-examples/rke2"
	"fairlead.dev/fleet-examples/vsphere"
)

// A Template is the example fleet of one provider.
type Template struct {
	Provider string
	Files    fs.FS
	Kind     string   // of the infrastructure cluster, by which a fleet of the provider is known
	Flavors  []Flavor // the first is the default
	Needs    []string // what is to be done besides, a sentence each
}

// A Flavor is a cluster of the example that others are made like.
type Flavor struct {
	Name     string
	Folder   string   // of its overlay
	Required []string // variables whose values in the example are of no use to others
	// Files are the example that it is of; nil: that of the template. Also are folders of it
	// that come with it, and Needs what is to be done besides, instead of the template's.
	Files fs.FS
	Also  []string
	Needs []string
}

// For returns t for a cluster like f.
func (t Template) For(f Flavor) Template {
	if f.Files != nil {
		t.Files, t.Needs = f.Files, f.Needs
	}
	return t
}

// Templates returns one for each provider that has an example, sorted by name.
func Templates() []Template {
	endpoint := []string{"ENDPOINT"}
	return []Template{
		{
			Provider: "hosts", Files: hosts.Files(), Kind: "HostCluster",
			Flavors: []Flavor{
				{Name: "small", Folder: "clusters/dev/small", Required: endpoint},
				{Name: "ha", Folder: "clusters/prod/ha", Required: endpoint},
				{Name: "hosted", Folder: "clusters/prod/edge", Required: []string{"CONTROL_PLANE_HOST"}, Files: hosted.Files(), Needs: []string{
					"write your hosts, with their keys, into workers.yaml of the cluster",
					"the Secrets NAME-kubeconfig, the way into the cluster, and hosts-ssh with the key of the hosts have to be in its namespace: docs/guides/clusters/hosted-control-planes.md",
				}},
			},
			Needs: []string{
				"write your hosts, with their keys, into pools/hall-1.yaml",
				"the Secret hosts-ssh with the key to reach them by has to be in the namespace of the cluster: docs/guides/infrastructure/hosts.md",
			},
		},
		{
			Provider: "inmemory", Files: inmemory.Files(), Kind: "DevCluster",
			Flavors: []Flavor{
				{Name: "small", Folder: "clusters/staging/eu-2"},
				{Name: "ha", Folder: "clusters/prod/eu-1"},
				{Name: "k3s", Folder: "clusters/prod/eu-1", Files: k3s.Files()},
				{Name: "rke2", Folder: "clusters/prod/eu-1", Files: rke2.Files()},
				{Name: "class", Folder: "clusters/staging/eu-2", Files: clusterclass.Files(), Also: []string{"classes/dev"}},
			},
		},
		{
			Provider: "metal3", Files: metal3.Files(), Kind: "Metal3Cluster",
			Flavors: []Flavor{{Name: "small", Folder: "clusters/dev/small", Required: endpoint}, {Name: "ha", Folder: "clusters/prod/ha", Required: endpoint}},
			Needs: []string{
				"write your hosts into hosts, a folder for each namespace",
				"a Secret for each BMC and one for Ironic have to be in the namespace of the hosts: docs/guides/infrastructure/metal3.md",
			},
		},
		{
			Provider: "openstack", Files: openstack.Files(), Kind: "OpenStackCluster",
			Flavors: []Flavor{
				{Name: "small", Folder: "clusters/dev/small"},
				{Name: "ha", Folder: "clusters/prod/ha", Required: []string{"API_ALLOWED_CIDRS"}},
				{Name: "zones", Folder: "clusters/prod/zones"},
				{Name: "flatcar", Folder: "clusters/edge/flatcar"},
				{Name: "mixed", Folder: "clusters/prod/web", Files: mixed.Files(), Needs: []string{
					"write your hosts, with their keys, into metal.yaml of the cluster",
					"the Secrets cloud-config with clouds.yaml and hosts-ssh with the key of the hosts have to be in the namespace of the cluster: docs/guides/infrastructure/mixed-infrastructure.md",
				}},
			},
			Needs: []string{"the Secret cloud-config with clouds.yaml has to be in the namespace of the cluster: docs/guides/infrastructure/openstack.md"},
		},
		{
			Provider: "vsphere", Files: vsphere.Files(), Kind: "VSphereCluster",
			Flavors: []Flavor{
				{Name: "small", Folder: "clusters/dev/small", Required: endpoint},
				{Name: "ha", Folder: "clusters/prod/ha", Required: []string{"ENDPOINT", "POOL_ADDRESSES", "POOL_GATEWAY", "DNS_NAMESERVERS"}},
				{Name: "pooled", Folder: "clusters/prod/pooled", Required: []string{"ENDPOINT_ADDRESSES"}},
				{Name: "zones", Folder: "clusters/prod/zones", Required: endpoint},
				{Name: "volumes", Folder: "clusters/prod/volumes", Required: []string{"ENDPOINT", "VSPHERE_CLUSTER_ID"}},
			},
			Needs: []string{"the Secret vsphere with the account in vCenter has to be in the namespace of the cluster: docs/guides/infrastructure/vsphere.md"},
		},
	}
}

// Of returns the template of the provider.
func Of(provider string) (Template, error) {
	all := Templates()
	if i := slices.IndexFunc(all, func(t Template) bool { return t.Provider == provider }); i >= 0 {
		return all[i], nil
	}
	var names, flavorOf []string
	for _, t := range all {
		names = append(names, t.Provider)
		if slices.ContainsFunc(t.Flavors, func(f Flavor) bool { return f.Name == provider }) {
			flavorOf = append(flavorOf, "--provider "+t.Provider+" --flavor "+provider)
		}
	}
	if len(flavorOf) > 0 {
		return Template{}, fmt.Errorf("%s is a flavor and no provider: use %s", provider, strings.Join(flavorOf, " or "))
	}
	return Template{}, fmt.Errorf("invalid --provider %q: must be one of %s", provider, strings.Join(names, ", "))
}

// Find returns the template of the provider whose clusters the bases and classes of tree make. The error
// says to name it where there are none, or several.
func Find(tree fs.FS) (Template, error) {
	var found []Template
	for _, t := range Templates() {
		has, err := mentions(tree, "kind: "+t.Kind, "kind: "+t.Kind+"Template")
		if err != nil {
			return Template{}, err
		}
		if has {
			found = append(found, t)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for _, t := range found {
		names = append(names, t.Provider)
	}
	if len(names) == 0 {
		return Template{}, fmt.Errorf("cannot tell the provider of this fleet from its clusters: set --provider")
	}
	return Template{}, fmt.Errorf("this fleet has clusters of %s: name the one that is meant with --provider", strings.Join(names, " and "))
}

// mentions reports whether a YAML file of tree, but for hidden ones, has one of lines.
func mentions(tree fs.FS, lines ...string) (bool, error) {
	found := false
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case found, d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		found = slices.ContainsFunc(strings.Split(string(text), "\n"), func(is string) bool { return slices.Contains(lines, is) })
		return err
	})
	return found, err
}

// Flavor returns the one called name; the default for none.
func (t Template) Flavor(name string) (Flavor, error) {
	if name == "" {
		return t.Flavors[0], nil
	}
	var names []string
	for _, f := range t.Flavors {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Flavor{}, fmt.Errorf("provider %s has no flavor %q: there are %s", t.Provider, name, strings.Join(names, ", "))
}
