package hosts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/claims"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// A search looks for a host for one machine.
type search struct {
	p       *Provider
	request providers.MachineRequest
	op      fleet.OperationID
	spec    *api.HostMachineSpec
	all     roster
}

// claim tries the hosts in their order. Those that refuse are passed over.
func (q *search) claim(ctx context.Context, what string) error {
	hosts := slices.DeleteFunc(slices.Clone(q.all), func(s *observedHost) bool { return q.spec.PoolName != "" && s.host.Pool != q.spec.PoolName })
	if len(hosts) == 0 {
		return fleet.Errorf(fleet.Invalid, what, "there is no HostPool %s in namespace %s, or it has no hosts (correct poolName)", q.spec.PoolName, q.request.Cluster.Key.Namespace)
	}
	claimed, why, err := claims.First(hosts, func(s *observedHost) string { return s.host.Name }, func(s *observedHost) (string, error) {
		reason, err := q.mismatch(s)
		if err != nil {
			return "", fleet.Errorf(fleet.Invalid, what, "%w", err)
		}
		if reason != "" {
			return reason, nil
		}
		reason, err = q.try(ctx, s)
		return reason, wrap(what, err)
	})
	if claimed || err != nil {
		return err
	}
	const most = 8
	return fleet.Errorf(fleet.Exhausted, what, "no host is free for it: %s", claims.Why(why, most))
}

// mismatch returns why a machine cannot have the host, or "".
func (q *search) mismatch(s *observedHost) (string, error) {
	selects, err := selector(q.spec)
	if err != nil {
		return "", err
	}
	domain := q.request.FailureDomain
	switch {
	case s.host.Lost:
		return "is lost", nil
	case !selects.Matches(labels.Set(s.host.Labels)):
		return "is not selected", nil
	case domain != "" && s.host.FailureDomain != domain:
		return "is not in failure domain " + domain, nil
	case s.host.Unschedulable:
		return "is unschedulable", nil
	case !s.answers():
		return "does not answer", nil
	case s.state.Claimed:
		return describeClaim(s.state.Claim), nil
	case s.state.CPUs < q.spec.MinCPUs:
		return fmt.Sprintf("has %d CPUs", s.state.CPUs), nil
	case q.spec.Bootstrap == api.BootstrapCloudInit && !s.state.CloudInit:
		return "has no cloud-init", nil
	}
	if q.spec.MinMemory != "" {
		least, err := resource.ParseQuantity(q.spec.MinMemory)
		if err != nil {
			return "", err
		}
		if s.state.Memory < least.Value() {
			return fmt.Sprintf("has %s of memory", resource.NewQuantity(s.state.Memory, resource.BinarySI)), nil
		}
	}
	return "", nil
}

func selector(spec *api.HostMachineSpec) (labels.Selector, error) {
	if spec.HostSelector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(spec.HostSelector)
}

// try claims one host. A reason says that the next one is to be tried; an error,
// that none is.
func (q *search) try(ctx context.Context, s *observedHost) (reason string, err error) {
	name := "host " + s.host.ns + " " + s.host.String()
	if !q.p.deciding.TryLock(name) {
		return "is being claimed for another machine", nil
	}
	defer q.p.deciding.Unlock(name)
	c := &host.Claim{
		ID: claims.NewID(), Pool: s.host.Pool, Host: s.host.Name, Domain: s.host.FailureDomain,
		Created: time.Now().UTC().Truncate(time.Second), Tags: q.request.Tags(q.op), APIPort: q.request.APIPort,
	}
	payload, reason, err := q.payload(s, c)
	if err != nil || reason != "" {
		return reason, err
	}
	if err := q.p.announce(ctx, q.all, c); err != nil {
		return "", err
	}
	reason, err = q.p.claim(ctx, s, c, payload)
	if reason != "" {
		q.p.withdraw(ctx, q.all, c)
	}
	return reason, err
}

// claim takes the host with c. A reason says why it was not taken; an error, that
// it is not known whether it was.
func (p *Provider) claim(ctx context.Context, s *observedHost, c *host.Claim, payload host.Payload) (reason string, err error) {
	out, err := p.run(ctx, s.host, host.Take(c, payload))
	answer := strings.TrimSpace(string(out))
	switch {
	case err != nil && fleet.KindOf(err) == fleet.Unanswered:
		return "", err
	case err != nil:
		return "refuses: " + err.Error(), nil
	case answer == host.Claimed:
		return "", nil
	case answer == host.Taken:
		return "was claimed by somebody else just now", nil
	case answer == host.Full:
		return "has no room on its disk", nil
	case answer == host.Restarting:
		return "restarts after its release", nil
	case strings.HasPrefix(answer, host.Closed+" "):
		port := strings.TrimPrefix(answer, host.Closed+" ")
		return fmt.Sprintf("runs firewalld, which closes port %.5s (as root of the host: firewall-cmd --permanent --add-port=%.5s/tcp && firewall-cmd --reload, and what the network of pods needs; or systemctl disable --now firewalld)", port, port), nil
	case answer == host.Slow:
		return "took too long to write the user data", nil
	}
	return fmt.Sprintf("answers %.60q", answer), nil
}

// describeClaim returns, as a reason, the use of a host; nil is the claim of another fleet.
func describeClaim(k *host.Claim) string {
	switch {
	case k == nil:
		return "has a claim that is not Fairlead's"
	case !k.OfMachine():
		return "carries the load balancer of " + k.Tags[fleet.TagCluster]
	}
	return "carries a machine of " + k.Tags[fleet.TagCluster]
}

// payload returns what the machine boots with on the host.
func (q *search) payload(s *observedHost, c *host.Claim) (p host.Payload, reason string, err error) {
	data := q.request.UserData.Content.Reveal()
	m := userdata.Metadata{
		InstanceID: c.ID, Name: string(q.request.Name), ProviderID: c.ProviderID(),
		Pool: s.host.Pool, Host: s.host.Name, Address: s.host.Address, FailureDomain: s.host.FailureDomain,
	}
	p = host.Payload{UserData: data, More: map[string][]byte{"meta-data": m.Document()}}
	const op = "hand over the user data"
	secrets, err := userdata.Secrets(data, m)
	if err != nil {
		return p, "", fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	p.Ports = []int32{10250}
	if q.request.Pool.Role == fleet.RoleControlPlane {
		p.Ports = append(p.Ports, cmp.Or(q.request.APIPort, q.request.Cluster.ControlPlane.APIPort, 6443), 2379, 2380)
		p.Ports = append(p.Ports, q.request.Cluster.ControlPlane.Ports...)
	}
	p.More["secrets"] = []byte(strings.Join(secrets, "\n"))
	if s.state.CloudInit && q.spec.Bootstrap != api.BootstrapScript {
		if p.Steps, err = userdata.CloudInit(data, m); err != nil {
			return p, "", fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
		return p, "", nil
	}
	only, err := userdata.OnlyCloudInit(data, m)
	if err != nil {
		return p, "", fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	if len(only) > 0 && q.spec.Bootstrap == api.BootstrapScript {
		return p, "", fleet.Errorf(fleet.Invalid, op, "it has %s, which only cloud-init does (leave that out, or choose another bootstrap than Script)", strings.Join(only, ", "))
	}
	if len(only) > 0 {
		return p, "has no cloud-init, which " + strings.Join(only, ", ") + " of the user data needs", nil
	}
	if p.Steps, err = userdata.Script(data, m); err != nil {
		return p, "", fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return p, "", nil
}
