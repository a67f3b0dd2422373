package all_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
)

// A mutant is a distribution with one fault. What is nil is as it should be.
type mutant struct {
	providers.Distribution
	userData func(providers.Distribution, providers.BootstrapInput) (providers.UserData, error)
	apply    func() error
	observe  func(*fleet.Workload)
	members  func(*fleet.Etcd, error) (*fleet.Etcd, error)
	remove   func() error
	admit    func() error
}

func (m mutant) UserData(in providers.BootstrapInput) (providers.UserData, error) {
	if m.userData != nil {
		return m.userData(m.Distribution, in)
	}
	return m.Distribution.UserData(in)
}

func (m mutant) Apply(ctx context.Context, a providers.Access, c *fleet.Cluster, e fleet.Endpoint, name string) error {
	if m.apply != nil {
		return m.apply()
	}
	return m.Distribution.Apply(ctx, a, c, e, name)
}

func (m mutant) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	err := m.Distribution.Observe(ctx, a, w)
	if m.observe != nil {
		m.observe(w)
	}
	return err
}

func (m mutant) Members(ctx context.Context, a providers.Access) (*fleet.Etcd, error) {
	etcd, err := m.Distribution.Members(ctx, a)
	if m.members != nil {
		return m.members(etcd, err)
	}
	return etcd, err
}

func (m mutant) RemoveMember(ctx context.Context, a providers.Access, member fleet.Member) error {
	if m.remove != nil {
		return m.remove()
	}
	return m.Distribution.RemoveMember(ctx, a, member)
}

func (m mutant) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	if m.admit != nil {
		return m.admit()
	}
	return m.Distribution.Admit(ctx, a, in, ttl)
}

// add returns what d has a machine boot with, and more of it.
func add(d providers.Distribution, in providers.BootstrapInput, more []byte) (providers.UserData, error) {
	u, err := d.UserData(in)
	u.Content = fleet.NewSecret(slices.Concat(u.Content.Reveal(), []byte("\n# "), more))
	return u, err
}

func nothing() error { return nil }

// alwaysWell tells that every member is, and blind that nobody is a member where nobody
// answers.
func alwaysWell(e *fleet.Etcd, err error) (*fleet.Etcd, error) {
	if e != nil {
		for i := range e.Members {
			e.Members[i].Healthy = true
		}
	}
	return e, err
}

func blind(e *fleet.Etcd, err error) (*fleet.Etcd, error) {
	if err != nil {
		return &fleet.Etcd{}, nil
	}
	return e, nil
}

// onlyHealthy leaves out the members that nobody hears of.
func onlyHealthy(e *fleet.Etcd, err error) (*fleet.Etcd, error) {
	if e != nil {
		e.Members = slices.DeleteFunc(e.Members, func(m fleet.Member) bool { return !m.Healthy })
	}
	return e, err
}

// anyAuthority has workers join whichever cluster they meet.
func anyAuthority(d providers.Distribution, in providers.BootstrapInput) (providers.UserData, error) {
	u, err := d.UserData(in)
	pin := regexp.MustCompile(`caCertHashes:\n *- 'sha256:[0-9a-f]+'`)
	u.Content = fleet.NewSecret(pin.ReplaceAll(u.Content.Reveal(), []byte("unsafeSkipCAVerification: true")))
	return u, err
}

// mutants has for each check of the suite a fault that it finds.
func mutants() map[string]mutant {
	return map[string]mutant{
		"UserDataIsRepeatable": {userData: func(d providers.Distribution, in providers.BootstrapInput) (providers.UserData, error) {
			return add(d, in, []byte(rand.Text()))
		}},
		"WorkersAreGivenWhatWorkersNeed": {userData: func(d providers.Distribution, in providers.BootstrapInput) (providers.UserData, error) {
			return add(d, in, in.Secrets[fleet.ClusterCA][fleet.TLSKeyKey].Reveal())
		}},
		"ClusterGrows":             {observe: func(w *fleet.Workload) { w.Servers = nil }},
		"NobodyJoinsUnasked":       {admit: nothing},
		"ServerLeaves":             {remove: nothing},
		"NameIsUsedAgain":          {remove: nothing},
		"DeadServerIsReplaced":     {members: alwaysWell},
		"MemberWithoutMachine":     {members: onlyHealthy},
		"LastMemberStays":          {remove: nothing},
		"LostQuorumIsNoAnswer":     {members: blind},
		"ServersComeBack":          {members: onlyHealthy, observe: func(w *fleet.Workload) { w.Servers = w.Servers[:min(1, len(w.Servers))] }},
		"Upgrade":                  {apply: nothing},
		"OtherClusterIsNotReached": {userData: anyAuthority},
		"ExpiryIsSeen":             {observe: forgetExpiry},
		"KeepsWhatItWasMadeWith":   {observe: func(w *fleet.Workload) { w.Made = nil }},
	}
}

// forgetExpiry leaves nothing of when certificates expire.
func forgetExpiry(w *fleet.Workload) {
	for i := range w.Servers {
		w.Servers[i].CertificatesNotAfter = time.Time{}
	}
}

// TestEveryDistributionCheckHasAMutant: each check finds a fault.
func TestEveryDistributionCheckHasAMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the suite once more")
	}
	all := mutants()
	for _, c := range conformance.DistributionChecks() {
		t.Run(c.Name, func(t *testing.T) {
			m, ok := all[c.Name]
			if !ok {
				t.Fatal("no mutant is for it")
			}
			o := distributions()["kubeadm"].options(t)
			real := o.New
			o.New = func(t testing.TB) conformance.World {
				w := real(t)
				m.Distribution = w.Distribution
				w.Distribution = m
				return w
			}
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{TB: t}
				var wg sync.WaitGroup
				wg.Go(func() { c.Run(r, o) })
				wg.Wait()
				if len(r.failures) == 0 {
					t.Error("it finds nothing wrong with its mutant")
				}
			})
		})
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failures []string
}

// Helper implements testing.TB.
func (r *recorder) Helper() {}

// Log implements testing.TB.
func (r *recorder) Log(...any) {}

// Error implements testing.TB.
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }

// Errorf implements testing.TB.
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// Fatal implements testing.TB.
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }

// Fatalf implements testing.TB.
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
