// Package kube finds the way to the API server of a Kubernetes cluster: from a kubeconfig
// in a file or in memory, or from the pod that this process runs in. It connects to
// nothing: clients are made from what it returns.
//
// What it guarantees:
//
//   - The content of a kubeconfig that Fairlead did not get from the person who runs it
//     goes through fleet/documents, and is written nowhere.
//   - Each request has the time-out and the rate that the caller says.
//
// For example:
//
//	access, err := kube.FromFile("", kube.Options{Timeout: 15 * time.Second})
//	client, err := corev1client.NewForConfig(access.Config)
package kube

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// ErrNotInCluster says that this process runs in no cluster, and nothing names another one.
var ErrNotInCluster = errors.New("this process runs in no cluster: name a kubeconfig, as in --secrets kubernetes:FILE")

// namespaceFile has the namespace of the pod that a process runs in.
// Source: Kubernetes, Accessing the Kubernetes API from a Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// userAgent is how Fairlead names itself.
const userAgent = "fairlead"

// Options say how an API server is spoken to.
type Options struct {
	UserAgent string        // empty: fairlead
	Timeout   time.Duration // of one request; 0: none
	QPS       float32       // requests a second; 0: as many as the caller makes
	Burst     int           // requests beyond QPS, at once
}

// An Access leads to an API server.
type Access struct {
	Config    *rest.Config
	Namespace string // that the kubeconfig or the pod names
}

// FromFile returns the way that the kubeconfig in the file called name says. An empty name
// is the cluster that this process runs in; the error is ErrNotInCluster where there is
// none.
func FromFile(name string, o Options) (Access, error) {
	if name == "" {
		return fromPod(o)
	}
	return from(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: name}, nil), o)
}

// FromPerson is like FromFile, for the kubeconfig that a person uses: an empty name is
// where kubectl looks for it. In is the context in it; empty: the current one.
func FromPerson(name, in string, o Options) (Access, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = name
	return from(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: in}), o)
}

// FromContent returns the way that the content of a kubeconfig says.
func FromContent(content fleet.Secret, o Options) (Access, error) {
	kubeconfig, err := documents.Plain(content.Reveal(), documents.DefaultLimits())
	if err != nil {
		return Access{}, err
	}
	loader, err := clientcmd.NewClientConfigFromBytes(kubeconfig)
	if err != nil {
		return Access{}, err
	}
	return from(loader, o)
}

func fromPod(o Options) (Access, error) {
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return Access{}, ErrNotInCluster
	}
	if err != nil {
		return Access{}, err
	}
	namespace, err := os.ReadFile(namespaceFile)
	return Access{o.Apply(config), strings.TrimSpace(string(namespace))}, err
}

func from(loader clientcmd.ClientConfig, o Options) (Access, error) {
	config, err := loader.ClientConfig()
	if err != nil {
		return Access{}, err
	}
	namespace, _, err := loader.Namespace()
	return Access{o.Apply(config), namespace}, err
}

// Apply returns config with o in it.
func (o Options) Apply(config *rest.Config) *rest.Config {
	config.UserAgent, config.Timeout = cmp.Or(o.UserAgent, userAgent), o.Timeout
	config.QPS, config.Burst = cmp.Or(o.QPS, -1), cmp.Or(o.Burst, -1)
	return config
}
