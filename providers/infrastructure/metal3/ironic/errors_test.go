package ironic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestErrors: what a real Ironic answers to what it does not do, with the kind that decides
// what Fairlead does then.
func TestErrors(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx := t.Context()
	managed := enrolled(t, i, c, "errors")
	deployed(t, i, c, "errors-used")
	available(t, i, c, "errors-free")
	used := claim(i, "on-errors-used")
	stranger := spec(i.AddHost("errors-stranger"))
	strangerWith := func(change func(*ironic.Spec)) ironic.Spec {
		s := stranger
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		reason string
		do     func() error
		kind   fleet.ErrorKind
		words  string
	}{
		"no node": {
			"absence is told by Ironic alone",
			func() error { _, err := c.Node(ctx, "metal~none"); return err },
			fleet.NotFound, "cannot look at host metal~none: Node metal~none could not be found.",
		},
		"another machine's": {
			"the host is lost, the next one",
			func() error { _, err := c.Claim(ctx, "metal~errors-used", claim(i, "other")); return err },
			fleet.Conflict, "cannot claim host metal~errors-used: Node " + ironic.NodeID("prod", "metal", "errors-used") + " is associated with instance " + used.Instance + ".",
		},
		"has a host": {
			"a machine has one host",
			func() error { _, err := c.Claim(ctx, "metal~errors-free", used); return err },
			fleet.Conflict, "cannot claim host metal~errors-free: Instance " + used.Instance + " is already associated with a node, it cannot be associated with this other node " + ironic.NodeID("prod", "metal", "errors-free"),
		},
		"deployed twice": {
			"look again: it is what was asked for",
			func() error { return c.Deploy(ctx, "metal~errors-used", "") },
			fleet.Conflict, `cannot deploy host metal~errors-used: The requested action "active" can not be performed on node "` + ironic.NodeID("prod", "metal", "errors-used") + `" while it is in state "active".`,
		},
		"removed while claimed": {
			"a host in use stays",
			func() error { return c.Delete(ctx, "metal~errors-used") },
			fleet.Conflict, `cannot remove host metal~errors-used: Node ` + ironic.NodeID("prod", "metal", "errors-used") + ` is associated with instance ` + used.Instance + `.`,
		},
		"name taken": {
			"another node's name",
			func() error {
				return c.Create(ctx, strangerWith(func(s *ironic.Spec) { s.UUID, s.Name = ironic.NodeID("prod", "metal", "z"), "metal~errors" }))
			},
			fleet.Conflict, "cannot enrol host metal~errors: A node with name metal~errors already exists.",
		},
		"UUID taken": {
			"somebody renamed the node",
			func() error {
				return c.Create(ctx, strangerWith(func(s *ironic.Spec) { s.UUID = ironic.NodeID("prod", "metal", "errors") }))
			},
			fleet.Conflict, "cannot enrol host metal~errors-stranger: its UUID " + ironic.NodeID("prod", "metal", "errors") + " is that of node metal~errors (give the node its name back, or remove it)",
		},
		"card taken": {
			"two hosts have no card in common",
			func() error { return c.Create(ctx, strangerWith(func(s *ironic.Spec) { s.MAC = managed.MAC() })) },
			fleet.Conflict, "cannot enrol host metal~errors-stranger: its network card " + managed.MAC() + " is that of node metal~errors of Ironic (correct bootMACAddress in Git, or remove the wrong node from Ironic)",
		},
		"no such driver": {
			"a conductor that has it may come",
			func() error {
				return c.Create(ctx, strangerWith(func(s *ironic.Spec) {
					s.UUID, s.Name, s.Driver = ironic.NodeID("prod", "metal", "x"), "metal~x", "ipmi"
				}))
			},
			fleet.Unavailable, "cannot enrol host metal~x: No valid host was found. Reason: No conductor service registered which supports driver ipmi for conductor group \"\". (start a conductor, and enable the driver in ironic.conf)",
		},
		"no name": {
			"can never work",
			func() error {
				return c.Create(ctx, strangerWith(func(s *ironic.Spec) { s.UUID, s.Name = ironic.NodeID("prod", "metal", "y"), "a b" }))
			},
			fleet.Invalid, "cannot enrol host a b: Cannot create node with invalid name 'a b'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := again(t, test.do)
			if err == nil {
				t.Fatalf("nothing is wrong: %s", test.reason)
			}
			wantError(t, err, test.kind, test.words)
		})
	}
}

// TestHeld: maintenance and protection keep a host as it is, and so does what is under way.
func TestHeld(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx, h := t.Context(), deployed(t, i, c, "held")
	id := ironic.NodeID("prod", "metal", "held")

	protect(t, i, id, true)
	err := again(t, func() error { return c.Undeploy(ctx, id) })
	wantError(t, err, fleet.Conflict, "cannot release host "+id+": Node "+id+" is protected and cannot be undeployed, rebuilt or deleted (unset protected of the node in Ironic)")
	if n := reach(t, c, "held", ironic.Active); !n.Protected {
		t.Errorf("protected: %+v", n)
	}
	protect(t, i, id, false)

	must(t, func() error { return c.SetMaintenance(ctx, id, "a new disk") })
	if n := reach(t, c, "held", ironic.Active); !n.Maintenance || n.MaintenanceReason != "a new disk" || n.Failure() != nil {
		t.Errorf("in maintenance: %+v", n)
	}
	must(t, func() error { return c.UnsetMaintenance(ctx, id) })

	slow := i.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtRequest, Delay: time.Hour})
	must(t, func() error { return c.Power(ctx, id, ironic.Reboot) })
	err = c.Power(ctx, id, ironic.Reboot)
	slow.End()
	if !ironic.IsLocked(err) || fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("while it restarts: %v", err)
	}
	available(t, i, c, "held-free")
	must(t, func() error { _, err := c.Claim(ctx, "metal~held-free", claim(i, "held-0")); return err })
	must(t, func() error { return c.SetMaintenance(ctx, "metal~held-free", "") })
	err = again(t, func() error { return c.Deploy(ctx, "metal~held-free", "") })
	wantError(t, err, fleet.Conflict, "cannot deploy host metal~held-free: The provisioning operation can't be performed on node "+ironic.NodeID("prod", "metal", "held-free")+" because it's in maintenance mode.")
}

// protect has somebody protect a node, or not any more.
func protect(t *testing.T, i *metal3test.Ironic, node string, on bool) {
	t.Helper()
	body, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/protected", "value": on}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, i.URL()+"/v1/nodes/"+node, strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(metal3test.User, metal3test.Password)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
		resp, err := i.HTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		if resp.StatusCode != http.StatusConflict {
			t.Fatal(resp.Status)
		}
		pause(t)
	}
}
