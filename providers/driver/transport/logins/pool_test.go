package logins_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/providers/driver/transport/logins"
)

type client struct{ closed bool }

func (c *client) Close() { c.closed = true }

// TestPool: who has the same credential has the same client, until nobody used it for an hour. The
// account is gone with its last client.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone []string
		p := logins.New[string, *client](func(account string) { gone = append(gone, account) })
		get := func(key, account string) *client {
			t.Helper()
			c, err := p.Client(key, account, func(gate *logins.Gate) (*client, error) {
				if gate == nil {
					t.Error("there is no gate")
				}
				return new(client), nil
			})
			if err != nil || c == nil || c.closed {
				t.Fatalf("%+v, %v", c, err)
			}
			return c
		}
		first, other := get("a/1", "a"), get("b/1", "b")
		time.Sleep(45 * time.Minute)
		second := get("a/2", "a")
		if get("a/1", "a") != first || first == second {
			t.Error("a credential has two clients, or two have one")
		}
		time.Sleep(45 * time.Minute)
		get("a/2", "a")
		synctest.Wait()
		if !other.closed || first.closed || !slices.Equal(gone, []string{"b"}) {
			t.Errorf("closed %t and %t, gone %q", other.closed, first.closed, gone)
		}
		time.Sleep(45 * time.Minute)
		get("a/2", "a")
		synctest.Wait()
		if clients, accounts := p.Sizes(); !first.closed || clients != 1 || accounts != 1 || len(gone) != 1 {
			t.Errorf("%d clients of %d accounts, gone %q", clients, accounts, gone)
		}
		if _, err := p.Client("c/1", "c", func(*logins.Gate) (*client, error) { return nil, errors.New("it is none") }); err == nil {
			t.Error("a wrong credential has a client")
		}
		if clients, accounts := p.Sizes(); clients != 1 || accounts != 1 {
			t.Errorf("with a wrong credential: %d clients of %d accounts", clients, accounts)
		}
		p.Close()
		if !second.closed {
			t.Error("it is open still")
		}
	})
}

// TestGate: what was refused is kept out, for longer each time, while another credential may be tried.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, no := logins.NewGate(time.Minute, 3*time.Minute), errors.New("no")
		for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
			g.Refused("a", no)
			time.Sleep(wait - time.Second)
			if g.Enter("a") != no || g.Enter("b") != nil { //nolint:errorlint // the very same
				t.Errorf("before %s: %v, and another %v", wait, g.Enter("a"), g.Enter("b"))
			}
			time.Sleep(time.Second)
			if err := g.Enter("a"); err != nil {
				t.Errorf("after %s: %v", wait, err)
			}
		}
		g.Refused("a", no)
		g.Accepted()
		if err := g.Enter("a"); err != nil {
			t.Errorf("after another credential was accepted: %v", err)
		}
		g.Refused("a", no)
		time.Sleep(time.Minute)
		if err := g.Enter("a"); err != nil {
			t.Errorf("a success does not count: %v", err)
		}
	})
}

// TestRefusals: a password that is refused is tried so seldom that no account is locked.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := logins.New[string, *client](nil), time.Now()
		var g *logins.Gate
		for _, key := range []string{"old", "new"} {
			_, err := p.Client(key, "account", func(gate *logins.Gate) (*client, error) {
				if g != nil && g != gate {
					t.Error("two credentials of an account have two gates")
				}
				g = gate
				return new(client), nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var tried []string
		for time.Since(began) < 30*time.Minute {
			if g.Enter("old") == nil {
				tried = append(tried, time.Since(began).String())
				g.Refused("old", errors.New("no"))
			}
			time.Sleep(30 * time.Second)
		}
		if got := strings.Join(tried, " "); got != "0s 1m0s 3m0s 7m0s 15m0s 25m0s" {
			t.Errorf("a refused password was tried at %s", got)
		}
		if g.Enter("new") != nil {
			t.Error("another password has to wait for the refused one")
		}
		g.Accepted()
		if g.Enter("old") != nil {
			t.Error("after a success there is a refusal")
		}
	})
}
