package hosts

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
	"fairlead.dev/providers/infrastructure/hosts/userdata"
)

// CreateMachine implements providers.Infrastructure: it claims the first free host
// that fits and has it run the user data.
func (p *Provider) CreateMachine(ctx context.Context, op fleet.OperationID, r providers.MachineRequest) error {
	c := r.Cluster
	what := "create machine " + c.Key.Namespace + "/" + string(r.Name)
	if r.UserData.Format != "cloud-config" {
		return fleet.Errorf(fleet.Invalid, what, "hosts take cloud-config, and the user data is in the format %q (Ignition runs at the first boot of a disk alone)", r.UserData.Format)
	}
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	if !p.reserve("machine " + string(c.Fleet) + " " + c.Key.String() + " " + string(r.Name)) {
		return fleet.Errorf(fleet.Conflict, what, "it is being created already")
	}
	defer p.unreserve("machine " + string(c.Fleet) + " " + c.Key.String() + " " + string(r.Name))
	all, err := p.look(ctx, c)
	if err != nil {
		return wrap(what, err)
	}
	for _, f := range all.machines(c) {
		if f.claim.Tags[fleet.TagMachine] != string(r.Name) {
			continue
		}
		m := f.machine()
		if f.forged != "" {
			return fleet.Errorf(fleet.Conflict, what, "there is a claim of that name, which may be forged: %s", f.forged)
		}
		if m.State == fleet.MachineDeleting {
			return fleet.Errorf(fleet.Conflict, what, "the last machine of that name is still being deleted")
		}
		if m.Template != r.Pool.Template {
			return fleet.Errorf(fleet.Conflict, what, "it exists with another template, %s", m.Template)
		}
		return nil // adopted
	}
	if len(all.shared(c)) == 0 {
		return fleet.Errorf(fleet.Conflict, what, "the infrastructure of the cluster is not there")
	}
	q := &search{p: p, request: r, op: op, spec: spec, all: all}
	return q.claim(ctx, what)
}

// reserve keeps name for the caller in this process, until unreserve; false means that
// somebody has it.
func (p *Provider) reserve(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := !p.reserved[name]
	p.reserved[name] = true
	return free
}

func (p *Provider) unreserve(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reserved, name)
}

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
	var why []string
	for _, s := range q.all {
		if q.spec.PoolName != "" && s.host.Pool != q.spec.PoolName {
			continue
		}
		reason, err := q.mismatch(s)
		if err != nil {
			return fleet.Errorf(fleet.Invalid, what, "%w", err)
		}
		if reason == "" {
			reason, err = q.try(ctx, s)
			if err != nil {
				return wrap(what, err)
			}
			if reason == "" {
				return nil
			}
		}
		why = append(why, s.host.Name+" "+reason)
	}
	if len(why) == 0 {
		return fleet.Errorf(fleet.Invalid, what, "there is no HostPool %s in namespace %s, or it has no hosts (correct poolName)", q.spec.PoolName, q.request.Cluster.Key.Namespace)
	}
	const most = 8
	if more := len(why) - most; more > 0 {
		why = append(why[:most], fmt.Sprintf("and %d more", more))
	}
	return fleet.Errorf(fleet.Exhausted, what, "no host is free for it: %s", strings.Join(why, "; "))
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
	if !q.p.reserve(name) {
		return "is being claimed for another machine", nil
	}
	defer q.p.unreserve(name)
	c := &host.Claim{
		ID: host.NewID(), Pool: s.host.Pool, Host: s.host.Name, Domain: s.host.FailureDomain,
		Created: time.Now().UTC().Truncate(time.Second), Tags: q.request.Tags(q.op),
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
// nobody knows whether it was.
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
		return fmt.Sprintf("runs firewalld, which lets nobody reach port %.5s (as root of the host: firewall-cmd --permanent --add-port=%.5s/tcp && firewall-cmd --reload, and what the network of pods needs; or systemctl disable --now firewalld)", port, port), nil
	case answer == host.Slow:
		return "took too long to write the user data", nil
	}
	return fmt.Sprintf("answers %.60q", answer), nil
}

// describeClaim says, as a reason, what is on a host; nil is the claim of somebody else.
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
		p.Ports = append(p.Ports, cmp.Or(q.request.Cluster.ControlPlane.APIPort, 6443), 2379, 2380)
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

// failureDomains returns those of all hosts, sorted. The control plane may be in
// those that have a host for it.
func failureDomains(c *fleet.Cluster, r roster) ([]fleet.FailureDomain, error) {
	spec, err := api.ReadMachine(c.ControlPlane.Infrastructure)
	if err != nil {
		return nil, err
	}
	selects, err := selector(spec)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read HostMachineTemplate "+c.ControlPlane.Infrastructure.Name, "%w", err)
	}
	var out []fleet.FailureDomain
	for _, s := range r {
		h := s.host
		if h.FailureDomain == "" || h.Lost {
			continue
		}
		i := slices.IndexFunc(out, func(d fleet.FailureDomain) bool { return d.Name == h.FailureDomain })
		if i < 0 {
			out = append(out, fleet.FailureDomain{Name: h.FailureDomain})
			i = len(out) - 1
		}
		if (spec.PoolName == "" || spec.PoolName == h.Pool) && selects.Matches(labels.Set(h.Labels)) && !h.Unschedulable {
			out[i].ControlPlane = true
		}
	}
	slices.SortFunc(out, func(a, b fleet.FailureDomain) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

var (
	token = regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`)
	// What a shell writes of its commands (set -x) is the user data, with all that is in it.
	traced = regexp.MustCompile(`(?m)^\++ .*$`)
	// A value that is called a secret, and the password in a URL.
	named = regexp.MustCompile(`(?i)((?:passw|secret|token|credential|private|api.?key|authorization)[\w.-]*["']?\s*[=:]\s*)\S+`)
	inURL = regexp.MustCompile(`(://[^\s/:@]+:)[^\s/@]+@`)
)

// mostLog is how much of a log is told: it stays in Git.
const mostLog = 1500

// quoteLog returns the end of a log for a message, without what may be a secret. Those
// of the user data the host takes out itself.
func quoteLog(log string) string {
	log = token.ReplaceAllString(log, "$1.REDACTED")
	log = traced.ReplaceAllString(log, "+ REDACTED")
	log = named.ReplaceAllString(log, "${1}REDACTED")
	log = inURL.ReplaceAllString(log, "${1}REDACTED@")
	if over := len(log) - mostLog; over > 0 {
		log = strings.ToValidUTF8(log[over:], "")
	}
	if log = strings.TrimSpace(log); log == "" {
		return ""
	}
	return "; the last lines of its log:\n" + log
}
