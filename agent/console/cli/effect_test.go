package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// A flag without an effect is refused, with the flag that gives it one.
func TestFlagsWithoutEffect(t *testing.T) {
	for _, c := range []struct{ args, want, reason string }{
		{"status --timeout=5s", "--timeout has no effect without --wait: add --wait, or remove --timeout", "nothing waits"},
		{"suspend prod/eu-1 --timeout=5s", "--timeout has no effect without --wait", "a request does not wait either"},
		{"status --timeout=5s --wait=0s", "--timeout has no effect without --wait", "0s turns waiting off"},
		{"status --trust-merges", "--trust-merges has no effect without --trusted-keys", "any merge is followed"},
		{"agent --otlp-ratio=0.1", "--otlp-ratio has no effect without --otlp-endpoint", "nothing is traced"},
		{"agent --page-host=fleet.example.com", "--page-host has no effect without --page-listen", "no page"},
		{"agent --page-forge=gitea", "--page-forge has no effect without --page-listen", "no page"},
		{"agent --webhook-secret-file=github=s", "--webhook-secret-file has no effect without --webhook-listen", "no webhooks"},
		{"agent --webhook-secret-dir=s", "--webhook-secret-dir has no effect without --webhook-listen", "no webhooks"},
		{"agent --webhook-tls-cert=c", "--webhook-tls-cert has no effect without --webhook-listen", "no webhooks"},
		{"agent --webhook-tls-key=k", "--webhook-tls-key has no effect without --webhook-listen", "no webhooks"},
		{"agent --autoscaler-cert=c", "--autoscaler-cert has no effect without --autoscaler-listen", "no autoscaler"},
		{"agent --autoscaler-key=c", "--autoscaler-key has no effect without --autoscaler-listen", "no autoscaler"},
		{"agent --autoscaler-ca-cert=c", "--autoscaler-ca-cert has no effect without --autoscaler-listen", "no autoscaler"},
		{"agent --listen= --pprof", "--pprof has no effect without --listen", "no HTTP"},
		{"agent --listen= --serve-inmemory", "--serve-inmemory has no effect without --listen", "no HTTP"},
		{"agent --listen= --metrics-clusters=all", "--metrics-clusters has no effect without --listen", "no HTTP"},
		{"agent --listen= --listen-tls-cert=c", "--listen-tls-cert has no effect without --listen", "no HTTP"},
		{"agent --listen= --listen-tls-key=k", "--listen-tls-key has no effect without --listen", "no HTTP"},
		{"agent --listen= --listen-client-ca=c", "--listen-client-ca has no effect without --listen", "no HTTP"},
		{"agent --listen= --listen-token-file=t", "--listen-token-file has no effect without --listen", "no HTTP"},
		{"agent --leader-election-lease=l", "--leader-election-lease has no effect without --leader-election", "no election"},
		{"agent --leader-election-namespace=n", "--leader-election-namespace has no effect without --leader-election", "no election"},
		{"agent --leader-election-lease-duration=9s", "--leader-election-lease-duration has no effect without --leader-election", "no election"},
		{"agent --leader-election-renew-deadline=9s", "--leader-election-renew-deadline has no effect without --leader-election", "no election"},
		{"agent --leader-election-retry-period=9s", "--leader-election-retry-period has no effect without --leader-election", "no election"},
		{"agent --replica-name=r", "--replica-name has no effect without --leader-election", "one process"},
		{"agent --replica-address=r", "--replica-address has no effect without --leader-election", "one process"},
		{"bootstrap --home=ops/home --allow-changes", "--allow-changes has no effect without --identity-file", "nothing is restored"},
		{"bootstrap --home=ops/home --escrow-folder=f", "--escrow-folder has no effect without --identity-file", "nothing is restored"},
		{"bootstrap --home=ops/home --escrow-branch=b", "--escrow-branch has no effect without --identity-file", "nothing is restored"},
		{"pivot --to=ops/home --into=s", "--into has no effect without --here", "secrets go to the home"},
		{"pivot --to=ops/home --exit", "--exit has no effect without --here", "no agent stays in this process"},
		{"pivot --here --to=ops/home", "--to has no effect with --here: remove one of them", "one destination"},
		{"pivot --here --image=i", "--image has no effect with --here", "nothing is installed"},
		{"orphans --yes", "--yes has no effect without --delete", "nothing to confirm"},
		{"plan --pull-request=12 --out=f", "--out has no effect with --pull-request", "the agent's plan is shown"},
		{"plan --pull-request=12 --against=f", "--against has no effect with --pull-request", "the agent's plan is shown"},
		{"plan --against=f --last-seen", "--last-seen has no effect with --against", "nothing is planned"},
		{"plan --against=f --set=A=b", "--set has no effect with --against", "nothing is rendered"},

		{"status", "", "no time limit"},
		{"status --timeout=5s --wait", "", "the time limit counts"},
		{"status --timeout=0", "", "0 is no time limit"},
		{"status --trust-merges --trusted-keys=k", "", "merges count"},
		{"agent --pprof", "", "--listen has a default"},
		{"agent --pprof=false --listen=", "", "nothing is turned on"},
		{"agent --replica-name=r --leader-election", "", "it is elected"},
		{"context set prod --trust-merges", "", "the context may have the other one"},
	} {
		warned, err := inNoFleet(t, strings.Fields(c.args)...)
		flag, _, _ := strings.Cut(strings.TrimPrefix(c.want, "--"), " ")
		warns, text := strings.HasPrefix(c.args, "agent ") && !slices.Contains(ofListeners(), flag), ""
		if err != nil {
			text = err.Error()
		}
		if warns && strings.Contains(text, "has no effect") {
			t.Errorf("%s: the agent ends: %v", c.args, err)
		}
		if warns {
			text = warned
		}
		if got := strings.Contains(text, "has no effect"); got != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s (%s): %q, want %q", c.args, c.reason, text, c.want)
		} else if got && !warns && exitCode(err) != 64 {
			t.Errorf("%s: exit code %d", c.args, exitCode(err))
		}
	}
}

// The environment gives flags for all commands. For the agent it is a command line of its own.
func TestEnvironmentWithoutEffect(t *testing.T) {
	t.Setenv("FAIRLEAD_TIMEOUT", "5s")
	t.Setenv("FAIRLEAD_TRUST_MERGES", "true")
	if _, err := inNoFleet(t, "status"); err == nil || strings.Contains(err.Error(), "has no effect") {
		t.Errorf("a command refuses the environment: %v", err)
	}
	if warned, _ := inNoFleet(t, "agent"); !strings.Contains(warned, "warning: --trust-merges has no effect without --trusted-keys") {
		t.Errorf("an agent does not warn of a variable without an effect: %q", warned)
	}
	t.Setenv("FAIRLEAD_TRUSTED_KEYS", "keys")
	if _, err := inNoFleet(t, "status", "--trust-merges"); err == nil || strings.Contains(err.Error(), "has no effect") {
		t.Errorf("the flag that counts is in the environment: %v", err)
	}
}

// inNoFleet runs a command in a folder without a fleet, and returns what it prints.
func inNoFleet(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var out bytes.Buffer
	root := New(program("dev"), Streams{Out: &out, Err: &out})
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}
