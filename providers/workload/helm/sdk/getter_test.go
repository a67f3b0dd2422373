package sdk

import "testing"

// TestNoProgramIsRun: a kubeconfig whose credential is a program for people has none here.
func TestNoProgramIsRun(t *testing.T) {
	g, err := newGetter([]byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: "https://10.0.0.9:6443"}}],
users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := g.ToRESTConfig()
	if err != nil || config.ExecProvider != nil {
		t.Errorf("the configuration runs %v, error %v", config.ExecProvider, err)
	}
}
