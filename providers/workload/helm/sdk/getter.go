package sdk

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"fairlead.dev/fleet/documents"
)

// getter gives Helm its clients, from a kubeconfig that is in no file.
type getter struct {
	raw       *api.Config
	wrap      func(http.RoundTripper) http.RoundTripper // nil: unchanged
	namespace string
	discovery discovery.CachedDiscoveryInterface
}

func newGetter(kubeconfig []byte, wrap func(http.RoundTripper) http.RoundTripper) (getter, error) {
	kubeconfig, err := documents.Plain(kubeconfig, documents.DefaultLimits())
	if err != nil {
		return getter{}, err
	}
	raw, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return getter{}, err
	}
	for _, user := range raw.AuthInfos { // programs are for people: nothing here runs one
		user.Exec, user.AuthProvider = nil, nil
	}
	g := getter{raw: raw, wrap: wrap}
	config, err := g.ToRESTConfig()
	if err != nil {
		return getter{}, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return getter{}, err
	}
	g.discovery = memory.NewMemCacheClient(client)
	return g, nil
}

// in returns g with another default namespace.
func (g getter) in(namespace string) getter {
	g.namespace = namespace
	return g
}

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.ToRawKubeConfigLoader().ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = -1, -1, "fairlead"
	if g.wrap != nil {
		config.Wrap(g.wrap)
	}
	return config, nil
}

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(g.discovery), nil
}

// ToRawKubeConfigLoader implements genericclioptions.RESTClientGetter.
func (g getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	o := &clientcmd.ConfigOverrides{}
	o.Context.Namespace = g.namespace
	return clientcmd.NewDefaultClientConfig(*g.raw, o)
}
