package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// HomeManifest is spec.home of ConfigFile.
type HomeManifest struct {
	Cluster   string          `json:"cluster"`
	Image     string          `json:"image,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Release   string          `json:"release,omitempty"`
	Values    json.RawMessage `json:"values,omitempty"`
	Addons    []string        `json:"addons,omitempty"`
	Keep      bool            `json:"keep,omitempty"`
}

// imageName is REPOSITORY[:TAG][@DIGEST], as the chart puts it together.
var imageName = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$`)

// maxRelease is the longest name that Helm gives a release.
const maxRelease = 53

// checkedHome validates m and fills in defaults.
func checkedHome(m *HomeManifest, fail func(field, message, hint string)) fleet.Home {
	if m == nil {
		return fleet.Home{}
	}
	h := fleet.Home{Image: m.Image, Namespace: m.Namespace, Release: m.Release, Addons: m.Addons, Keep: m.Keep}
	namespace, name, ok := strings.Cut(m.Cluster, "/")
	h.Cluster = fleet.Key{Namespace: namespace, Name: name}
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		fail("spec.home.cluster", fmt.Sprintf("%q is not NAMESPACE/NAME of a cluster", m.Cluster), "name a cluster of this fleet, such as ops/home; remove spec.home to leave the agent where it is")
	}
	if m.Image != "" && !imageName.MatchString(m.Image) {
		fail("spec.home.image", fmt.Sprintf("%q is no image", m.Image), "write REPOSITORY[:TAG][@DIGEST], such as registry.example.com/fairlead:v1.0.0")
	}
	if h.Namespace == "" {
		h.Namespace = fleet.HomeNamespace
	}
	for _, text := range validation.IsDNS1123Label(h.Namespace) {
		fail("spec.home.namespace", text, "it is the namespace of the agent, by default "+fleet.HomeNamespace)
	}
	if h.Release == "" {
		h.Release = fleet.HomeRelease
	}
	if texts := validation.IsDNS1123Label(h.Release); len(texts) > 0 || len(h.Release) > maxRelease {
		texts = append(texts, fmt.Sprintf("must be at most %d characters", maxRelease))
		fail("spec.home.release", texts[0], "it is the name of the Helm release of the agent, by default "+fleet.HomeRelease)
	}
	if len(m.Values) > 0 && string(m.Values) != "null" {
		h.Values = string(m.Values)
		checkHomeValues(m.Values, fail)
	}
	for i, p := range m.Addons {
		if !fs.ValidPath(p) || p == "." {
			fail(fmt.Sprintf("spec.home.addons[%d]", i), fmt.Sprintf("%q is no path in the repository", p), "write it from the root, such as addons/cni.yaml")
		}
	}
	return h
}

// checkHomeValues refuses values that would make another agent of it than the
// one that the fleet is handed over to.
func checkHomeValues(raw json.RawMessage, fail func(field, message, hint string)) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		fail("spec.home.values", "it is no mapping", "write values of the agent's chart, as in a values.yaml")
		return
	}
	for _, fixed := range []struct{ group, key string }{{"agent", "name"}, {"source", "url"}, {"source", "fleetID"}} {
		var group map[string]json.RawMessage
		if json.Unmarshal(values[fixed.group], &group) != nil {
			continue
		}
		if _, ok := group[fixed.key]; ok {
			field := "spec.home.values." + fixed.group + "." + fixed.key
			fail(field, "Fairlead sets this value for the hand-over, so it cannot be changed", "remove it")
		}
	}
}

// homeless returns what is wrong with a home that f does not have.
func homeless(f fleet.Fleet) []fleet.Problem {
	home := f.Config.Home
	if !home.Declared() ||
		slices.ContainsFunc(f.Clusters, func(c fleet.Cluster) bool { return c.Key == home.Cluster }) ||
		slices.ContainsFunc(f.Problems, func(p fleet.Problem) bool { return p.Cluster == home.Cluster }) {
		return nil
	}
	p := configProblem("spec.home.cluster", fmt.Sprintf("there is no cluster %s in this fleet: the agent stays where it is, and a cluster of that name is left alone", home.Cluster),
		"name a cluster that an overlay renders, or remove spec.home")
	p.Cluster = home.Cluster
	return []fleet.Problem{p}
}
