package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// A rebootTemplate says how machines of the cloud are rebooted, as Metal3RemediationTemplate does of
// hosts. It is a kind of these lives alone.
type rebootTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec rebootSpec `json:"spec,omitempty"`
}

type rebootSpec struct {
	RetryLimit     int `json:"retryLimit"`
	TimeoutSeconds int `json:"timeoutSeconds"`
}

func rebootKind() fleet.Kind {
	return fleet.Kind{
		Provider: inmemory.ProviderName, Role: fleet.InfrastructureCompanion, Group: "infrastructure.cluster.x-k8s.io", Kind: "DevRebootTemplate", Versions: []string{"v1beta2"},
		New:       func(string) any { return new(rebootTemplate) },
		Normalise: func(in any) (any, field.ErrorList) { return &in.(*rebootTemplate).Spec, nil },
		Reboots: func(spec any) fleet.RebootRules {
			s := spec.(*rebootSpec)
			return fleet.RebootRules{RetryLimit: s.RetryLimit, Timeout: time.Duration(s.TimeoutSeconds) * time.Second}
		},
	}
}

// rebootFlavour is of kubeadm, with a health check that has machines rebooted first. A cluster of the
// class has none.
func rebootFlavour() flavour {
	out := kubeadmFlavour()
	out.name = "reboots"
	out.cluster = strings.Replace(out.cluster, "  checks: ",
		"  remediation: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevRebootTemplate, name: %[1]s-reboot}}\n  checks: ", 1) + `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevRebootTemplate
metadata: {name: %[1]s-reboot, namespace: %[2]s}
spec: {retryLimit: 1, timeoutSeconds: 300}
`
	return out
}

var _ inmemory.Control = sky{}

// Faults implements inmemory.Control.
func (s sky) Faults(ctx context.Context) (inmemory.Faults, error) { return s.in.life.cloud.Faults(ctx) }

// SetFaults implements inmemory.Control: agents set none.
func (s sky) SetFaults(context.Context, inmemory.Faults) error { return nil }

// StopVM implements inmemory.Control.
func (s sky) StopVM(ctx context.Context, id string) error { return s.power(ctx, id, "off") }

// StartVM implements inmemory.Control. Some machines never get their power back.
func (s sky) StartVM(ctx context.Context, id string) error { return s.power(ctx, id, "on") }

func (s sky) power(ctx context.Context, id, to string) error {
	m, _ := s.in.life.machine(id)
	j, cloud := s.in.judge("switch "+to+" machine "+m.Name, m.Tags), s.cloud(ctx)
	return alone(through(ctx, s.in, theCloud, fmt.Sprintf("switch %s machine %s %s", to, m.Name, id), true, func(ctx context.Context) (struct{}, error) {
		if m.ID != "" { // it is deleted, and a listing is late
			j.change()
			j.leavesHeld(id)
		}
		switch {
		case to == "off":
			j.switchesOff(id)
			return struct{}{}, cloud.StopVM(ctx, id)
		case s.in.life.dead[id]:
			return struct{}{}, nil
		}
		return struct{}{}, cloud.StartVM(ctx, id)
	}))
}

// cutPower cuts the power of a worker that has it: where the last server is off, nobody knows who is
// sick. What is out of sight without power is gone for all that is known.
func (l *life) cutPower() {
	m, k, ok := l.anyMachine(func(m inmemory.MachineFacts) bool {
		return !m.Stopped && m.State == fleet.MachineRunning && m.Tags[fleet.TagRole] == string(fleet.RoleWorker) &&
			l.hidden[fleet.MachineName(m.Name)].IsZero()
	})
	if !ok {
		return
	}
	l.disturbed(k)
	l.logf("machine %s loses its power", m.Name)
	_ = l.cloud.StopVM(context.Background(), m.ID) // it may be gone by now
}

// switchesOff checks that machine id may be switched off: it was sick when the pass looked, and a
// control plane bears it.
func (j *judgement) switchesOff(id string) {
	facts := j.life.truth()
	i := slices.IndexFunc(facts.Machines, func(m inmemory.MachineFacts) bool { return m.ID == id })
	if i < 0 || facts.Machines[i].Deleted || j.upset() {
		return
	}
	m := facts.Machines[i]
	if since := j.life.availableSince(id); !since.IsZero() && since.Before(j.turn.began.Add(-5*time.Second)) && j.life.askedOf(m.Name, m.Provider) == "" {
		j.violates("OnlyTheSickAreRebooted", "it is available since %s", since)
	}
	etcd := facts.Etcd[m.Network]
	voters, left := 0, 0
	for _, e := range etcd.Members {
		if !e.Learner {
			voters++
			if e.Healthy && e.ID != m.Member {
				left++
			}
		}
	}
	if m.Member != 0 && etcd.Quorum && voters > 1 && left <= voters/2 {
		j.violates("EtcdQuorumKept", "%d of %d members would be left", left, voters)
	}
}
