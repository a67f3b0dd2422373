package all_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// TestDraftsFit: manifests whose user data no machine of a provider can boot with are refused, with
// what fills it. What is a little smaller than the limit is not: real certificates and names count.
func TestDraftsFit(t *testing.T) {
	limits := make(providers.Limits)
	for _, f := range all.Factories() {
		if limits[f.Name] = (providers.Limit{UserData: f.Limit}); f.Limit == nil && f.Name != "inmemory" { // it has no limit of its own
			t.Errorf("%s does not say what user data it refuses", f.Name)
		}
	}
	most := fits(t, limits["openstack"].UserData)
	for name, tc := range map[string]struct {
		provider string
		size     int // of files that nothing compresses well
		format   string
		want     string // empty: it fits
	}{
		"OpenStack, small":       {"openstack", 45_000, "cloud-config", ""},
		"OpenStack":              {"openstack", 90_000, "cloud-config", "49149 is the limit: move large files into the image, or let preKubeadmCommands fetch them; encryptionAlgorithm ECDSA-P256 makes the certificates of a control plane smaller; the largest files are /large-"},
		"OpenStack, Ignition":    {"openstack", 60_000, "ignition", "49149 is the limit"},
		"vSphere, small":         {"vsphere", 45_000, "cloud-config", ""},
		"vSphere":                {"vsphere", 90_000, "cloud-config", "49149 is the limit"},
		"Metal3, small":          {"metal3", 1_000_000, "cloud-config", ""},
		"Metal3":                 {"metal3", 1_200_000, "cloud-config", "1048576 is the limit"},
		"MAAS, small":            {"maas", 1_200_000, "cloud-config", ""},
		"MAAS, Ignition":         {"maas", 10, "ignition", "images of MAAS read cloud-config"},
		"AWS, small":             {"aws", 45_000, "cloud-config", ""},
		"AWS":                    {"aws", 90_000, "cloud-config", "65536 is the limit"},
		"AWS, Ignition":          {"aws", 60_000, "ignition", ""}, // it may be in a bucket
		"Azure, small":           {"azure", 60_000, "cloud-config", ""},
		"Azure":                  {"azure", 120_000, "cloud-config", "65535 is the limit"},
		"Docker, small":          {"docker", 1_200_000, "cloud-config", ""},
		"Docker, Ignition":       {"docker", 10, "ignition", "reads cloud-config"},
		"hosts":                  {"hosts", 1_200_000, "cloud-config", ""},
		"hosts, Ignition":        {"hosts", 10, "ignition", "hosts take cloud-config"},
		"the in-memory cloud":    {"inmemory", 1_200_000, "cloud-config", ""},
		"at the limit, Ignition": {"openstack", most, "ignition", ""},
		"above the limit":        {"openstack", most + 1, "ignition", "49149 is the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := draftedOn(t, tc.provider, limits, withFiles(tc.format, tc.size))
			if tc.want == "" && len(problems) > 0 || tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, tc.want) || problems[0].Field != "spec.template.spec") {
				t.Errorf("problems:\n%v\nwant %q", problems, tc.want)
			}
		})
	}
}

// fits returns the size of files with which the user data of a worker, as Ignition, just fits limit.
func fits(t *testing.T, limit func(providers.UserData) error) int {
	t.Helper()
	return sort.Search(50_000, func(size int) bool {
		return len(draftedOn(t, "openstack", providers.Limits{"openstack": {UserData: limit}}, withFiles("ignition", size))) > 0
	}) - 1
}

// largestFile is how long the content of a file may be.
const largestFile = 10_240

// withFiles returns manifests of a cluster whose workers have files of that size together, which do
// not compress well.
func withFiles(format string, size int) string {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a file, not a key
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(random.IntN(256))
	}
	var files []string
	for part := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(content)[:size]), largestFile) {
		files = append(files, fmt.Sprintf("{path: /large-%d, content: %q}", len(files), part))
	}
	d := distributions()["kubeadm"]
	text := fmt.Sprintf(clusterManifests, d.kind, d.older, d.bootstrap) + d.manifests
	return strings.Replace(text, "spec: {template: {spec: {}}}", fmt.Sprintf("spec: {template: {spec: {format: %s, files: [%s]}}}", format, strings.Join(files, ", ")), 1)
}

// draftedOn makes the user data of the machines of text as if they were the provider's.
func draftedOn(t *testing.T, provider string, limits providers.Limits, text string) []fleet.Problem {
	t.Helper()
	var objects []render.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "all.yaml", YAML: []byte(doc)})
	}
	distributions, drafter := all.Distributions(nil), providers.NewDrafter(limits)
	_, problems := decode.New("f", kinds(t)).WithDraft(func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
		d, err := distributions.Of(c)
		if err != nil {
			return err
		}
		p.Provider = provider
		return drafter.Draft(d, c, p, join)
	}).Decode("clusters/eu-1", objects)
	return problems
}

// TestDraftsAreLongerThanMachines: stand-ins may be longer than what they stand for. A kilobyte less has
// to be too much as well.
func TestDraftsAreLongerThanMachines(t *testing.T) {
	var sizes []int
	draftedOn(t, "openstack", providers.Limits{"openstack": {UserData: func(u providers.UserData) error {
		sizes = append(sizes, len(u.Content.Reveal()))
		return fleet.Errorf(fleet.Invalid, "hand over the user data", "it is too large")
	}}}, withFiles("ignition", 10))
	if len(sizes) < 2 || sizes[1]-sizes[0] != 1<<10 {
		t.Errorf("asked about %d bytes, want a kilobyte less first", sizes)
	}
}
