package simulation

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// keepPlane has somebody else keep the control plane of cluster i, and gives the agent the
// way in.
func (l *life) keepPlane(i int) inmemory.Plane {
	p, err := l.cloud.CreatePlane(context.Background(), inmemory.PlaneSpec{Version: older})
	if err == nil {
		k := key(i)
		k.Name += "-" + string(fleet.Kubeconfig)
		err = l.secrets.SetSecret(context.Background(), k, fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret(p.Kubeconfig)})
	}
	if err != nil {
		l.violate("cannot make the control plane of %s: %v", key(i), err)
	}
	l.planes = append(l.planes, p)
	return p
}

// hostedFlavour is that of clusters of kubeadm whose control plane is at e.
func hostedFlavour(e fleet.Endpoint) flavour {
	f := kubeadmFlavour()
	f.name, f.hosted = "hosted", true
	from, rest, _ := strings.Cut(clusterManifest, "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\n")
	_, to, _ := strings.Cut(rest, "preKubeadmCommands: [\"echo template %[6]d\"]\n")
	from = strings.Replace(from, "apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane", "apiGroup: fairlead.dev, kind: ExternalControlPlane", 1)
	f.cluster = from + fmt.Sprintf(`apiVersion: fairlead.dev/v1alpha1
kind: ExternalControlPlane
metadata: {name: %%[1]s-cp, namespace: %%[2]s}
spec:
  controlPlaneEndpoint: {host: %s, port: %d}%%[3]s
`, e.Host, e.Port) + to
	return f
}

// changePlane has whoever keeps a control plane upgrade it, or take it away for a while.
func (l *life) changePlane() {
	i := l.random.IntN(len(l.planes))
	p := &l.planes[i]
	if p.Version == older && l.chance(2) {
		p.Version = newer
	} else {
		p.Down = !p.Down
	}
	l.setPlane(i)
}

func (l *life) setPlane(i int) {
	p := l.planes[i]
	l.disturbed(key(i))
	l.logf("the control plane of %s is of %s, down: %v", key(i), p.Version, p.Down)
	if err := l.cloud.SetPlane(context.Background(), p); err != nil {
		l.violate("PlaneStays: %s: %v", key(i), err)
	}
}

// mendPlanes has all control planes answer, and be of what Git wants of workers.
func (l *life) mendPlanes() {
	for i := range l.planes {
		p := &l.planes[i]
		p.Down = false
		if l.wishes[i].version == newer {
			p.Version = newer
		}
		l.setPlane(i)
	}
}

// missingPlane says what is wrong with the control plane that somebody else keeps of
// cluster i: it stays, and of machines that are gone nothing is left in it.
func (l *life) missingPlane(i int) string {
	if !l.hosted {
		return ""
	}
	e := l.planes[i].Endpoint
	nodes, ok := l.facts.Planes[net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))]
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return l.stranded[n] })
	switch {
	case !ok:
		l.violate("PlaneStays: that of %s is gone", key(i))
	case l.wishes[i].deleted && len(nodes) > 0:
		return fmt.Sprintf("%s is deleted, and its control plane has the nodes %v", key(i), nodes)
	}
	return ""
}

// strand notes that m, which goes, may leave its Node in a control plane that somebody else took away: a
// deletion does not wait for that one.
func (l *life) strand(m inmemory.MachineFacts) {
	k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
	for i := range l.planes {
		if key(i) == k && l.planes[i].Down && l.wishes[i].deleted {
			l.stranded[m.Node] = true
		}
	}
}
