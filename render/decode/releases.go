package decode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/render/topology"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	helmTimeout    = 10 * time.Minute // Source: cluster-api-addon-provider-helm, webhook of HelmChartProxy
	helmMaxHistory = 10
	dockerConfig   = "config.json"
	caKey          = "ca.crt"
)

// releases returns what HelmChartProxies have installed in the cluster of root.
func (b *builder) releases(root *object) []fleet.Release {
	var out []fleet.Release
	first := make(map[fleet.ReleaseRef]*object)
	for _, o := range b.set.objects {
		in, ok := o.value.(*helmChartProxy)
		if !ok || !root.selectedBy(o) {
			continue
		}
		r := b.release(root, o, in)
		if other := first[r.ReleaseRef]; other != nil {
			b.addf(o, "spec.releaseName", "give one of them another releaseName or namespace, or have them select other clusters",
				"%s and this one both install release %s in cluster %s", other, r.ReleaseRef, b.key)
		}
		first[r.ReleaseRef] = o
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y fleet.Release) int { return x.Compare(y.ReleaseRef) })
	return out
}

// release returns what the HelmChartProxy o has installed in the cluster of root.
func (b *builder) release(root, o *object, in *helmChartProxy) fleet.Release {
	s := &in.Spec
	r := fleet.Release{
		ReleaseRef: fleet.ReleaseRef{Namespace: s.ReleaseNamespace, Name: s.ReleaseName},
		Proxy:      o.name, Strategy: fleet.ReleaseStrategy(s.ReconcileStrategy),
		Prune:  s.ReconcileStrategy == string(fleet.Continuous) && o.notes[fleet.PruneAnnotation] != "false",
		Paused: isPaused(nil, o),
		Chart:  fleet.Chart{Repository: s.RepoURL, Name: s.ChartName, Version: s.Version},
		Values: b.chartValues(root, o, s.ValuesTemplate), Options: releaseOptions(&s.Options),
	}
	if c := s.Credentials; c != nil {
		key := c.Key
		if key == "" {
			key = dockerConfig
		}
		r.Access.Credentials = b.secretValue(o, "spec.credentials", c.Secret.Name, key)
		var config struct {
			Auths map[string]any `json:"auths"`
		}
		if d := r.Access.Credentials; !d.IsZero() && (json.Unmarshal(d.Reveal(), &config) != nil || len(config.Auths) == 0) {
			b.addf(o, "spec.credentials", `write {"auths": {"HOST": {"username": "…", "password": "…"}}} there`,
				"key %s of Secret %s/%s holds no config.json of Docker with auths", key, o.namespace, c.Secret.Name)
		}
	}
	if t := s.TLSConfig; t != nil {
		r.Access.Insecure = t.InsecureSkipTLSVerify
		if t.CASecret != nil {
			r.Access.CA = b.secretValue(o, "spec.tlsConfig.caSecret", t.CASecret.Name, caKey)
		}
	}
	r.Digest = releaseDigest(&r)
	return r
}

func releaseOptions(o *helmOptions) fleet.ReleaseOptions {
	out := fleet.ReleaseOptions{
		Timeout: helmTimeout, MaxHistory: helmMaxHistory,
		CreateNamespace: o.Install.CreateNamespace == nil || *o.Install.CreateNamespace,
		Wait:            o.Wait || o.Atomic, WaitForJobs: o.WaitForJobs, Atomic: o.Atomic, CleanupOnFail: o.Upgrade.CleanupOnFail,
		SkipCRDs: o.SkipCRDs, DisableHooks: o.DisableHooks, Replace: o.Upgrade.Force, TakeOwnership: o.TakeOwnership,
		KeepHistory: o.Uninstall.KeepHistory, DisableOpenAPIValidation: o.DisableOpenAPIValidation,
	}
	if o.Timeout != nil {
		out.Timeout = o.Timeout.Duration
	}
	if o.Upgrade.MaxHistory != nil {
		out.MaxHistory = *o.Upgrade.MaxHistory
	}
	return out
}

// releaseDigest is a digest of what r installs and how, without the credentials of its repository:
// new credentials reinstall nothing.
func releaseDigest(r *fleet.Release) string {
	h := sha256.New()
	h.Write(marshal([]any{r.Proxy, r.Strategy, r.Prune, r.Chart, r.Options}))
	h.Write(r.Values.Reveal())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// secretValue returns the value of key in a Secret of the namespace of o, which
// names it at field.
func (b *builder) secretValue(o *object, field, name, key string) fleet.Secret {
	from := b.set.get("", "Secret", o.namespace, name)
	if from == nil {
		if !b.set.unreadable {
			b.addf(o, field, b.set.there("Secret"), "names Secret %s/%s, which the overlay does not hold", o.namespace, name)
		}
		return fleet.Secret{}
	}
	d, ok := from.value.(fleet.SecretData)
	if ok && d[key].IsZero() {
		b.addf(o, field, "add the key to the Secret", "names key %s of Secret %s/%s, which has none", key, o.namespace, name)
	}
	return d[key]
}

// chartValues returns the result of the values template of o for the cluster of root, as JSON of a
// mapping.
func (b *builder) chartValues(root, o *object, text string) fleet.Secret {
	bad := func(err error) fleet.Secret {
		b.addf(o, "spec.valuesTemplate", "", "for cluster %s: %s", b.key, err)
		return fleet.Secret{}
	}
	data, err := topology.Values(text, b.templateData(root))
	if err != nil {
		return bad(err)
	}
	if string(data) == "null" { // it prints nothing
		data = []byte("{}")
	}
	if data[0] != '{' {
		return bad(errors.New("it prints no mapping, which values of charts are"))
	}
	canonical, err := canonicalJSON(json.RawMessage(data))
	if err != nil {
		return bad(err)
	}
	return fleet.NewSecret(canonical)
}

// templateData returns what templates of values know: the objects of the cluster as
// Git has them, in the newest version of their kinds, defaulted.
func (b *builder) templateData(root *object) map[string]any {
	out := make(map[string]any, 3)
	add := func(name string, o *object) {
		if o == nil || o.value == nil {
			return
		}
		if content, ok := templateObject(o); ok {
			out[name] = content
		}
	}
	add("Cluster", root)
	if in, ok := root.value.(*clusterv1.Cluster); ok {
		add("ControlPlane", b.set.get(in.Spec.ControlPlaneRef.APIGroup, in.Spec.ControlPlaneRef.Kind, root.namespace, in.Spec.ControlPlaneRef.Name))
		add("InfraCluster", b.set.get(in.Spec.InfrastructureRef.APIGroup, in.Spec.InfrastructureRef.Kind, root.namespace, in.Spec.InfrastructureRef.Name))
	}
	return out
}

// templateObject returns o as templates see it.
func templateObject(o *object) (map[string]any, bool) {
	content := map[string]any{}
	if in, ok := o.value.(*infrastructure); ok {
		var spec any
		if err := json.Unmarshal(in.spec, &spec); err != nil {
			return nil, false
		}
		content["spec"], content["metadata"] = spec, o.raw["metadata"]
	} else {
		value := o.value
		if m, ok := value.(*fleet.ControlPlaneManifest); ok {
			value = m.Object
		}
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(value); err != nil {
			return nil, false
		}
		delete(content, "status")
	}
	content["apiVersion"], content["kind"] = o.gvk.Group+"/"+o.kind.versions[0], o.gvk.Kind
	return content, true
}
