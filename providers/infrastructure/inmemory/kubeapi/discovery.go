package kubeapi

import (
	"io"
	"net/http"
	"runtime"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serveHealth answers what everybody may ask.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz":
		_, _ = io.WriteString(w, "ok")
	case "/version", "/version/":
		reply(w, http.StatusOK, s.version())
	default:
		return false
	}
	return true
}

func (s *Server) version() version.Info {
	is := *s.release.Load()
	parts := strings.SplitN(strings.TrimPrefix(is, "v"), ".", 3)
	info := version.Info{
		Major: parts[0], GitVersion: is, GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if len(parts) > 1 {
		info.Minor = parts[1]
	}
	return info
}

// serveDiscovery tells what is served.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "api":
		reply(w, http.StatusOK, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"},
		})
		return
	case path == "apis":
		reply(w, http.StatusOK, s.groups())
		return
	case path == "openapi/v3":
		reply(w, http.StatusOK, s.openAPIRoot())
		return
	case strings.HasPrefix(path, "openapi/v3/"):
		if doc := s.openAPI(strings.TrimPrefix(path, "openapi/v3/")); doc != nil {
			reply(w, http.StatusOK, doc)
			return
		}
	default:
		if l := s.resources(path); l != nil {
			reply(w, http.StatusOK, l)
			return
		}
	}
	fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "", 0, true))
}

func (s *Server) groups() *metav1.APIGroupList {
	l := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := make(map[schema.GroupVersion]bool)
	for k := range s.kinds() {
		gv := k.GroupVersion()
		if gv.Group == "" || seen[gv] {
			continue
		}
		seen[gv] = true
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		l.Groups = append(l.Groups, metav1.APIGroup{
			Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
		})
	}
	return l
}

// resources lists what is served under path, or returns nil.
func (s *Server) resources(path string) *metav1.APIResourceList {
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	l := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for k := range s.kinds() {
		if k.root() != path {
			continue
		}
		l.GroupVersion = k.GroupVersion().String()
		r := metav1.APIResource{
			Name: k.plural, SingularName: k.singular(), Kind: k.Kind, Namespaced: k.namespaced, Verbs: verbs,
		}
		if k.short != "" {
			r.ShortNames = []string{k.short}
		}
		if k.all {
			r.Categories = []string{"all"}
		}
		l.APIResources = append(l.APIResources, r)
		for _, sub := range k.subs {
			l.APIResources = append(l.APIResources, subresource(k, sub))
		}
	}
	if l.GroupVersion == "" {
		return nil
	}
	return l
}

func subresource(k *kind, sub string) metav1.APIResource {
	r := metav1.APIResource{
		Name: k.plural + "/" + sub, Kind: k.Kind, Namespaced: k.namespaced,
		Verbs: metav1.Verbs{"get", "patch", "update"},
	}
	switch sub {
	case "eviction":
		r.Kind, r.Group, r.Version, r.Verbs = "Eviction", "policy", "v1", metav1.Verbs{"create"}
	case "portforward":
		r.Kind, r.Verbs = "PodPortForwardOptions", metav1.Verbs{"create", "get"}
	}
	return r
}

func (s *Server) openAPIRoot() map[string]any {
	paths := make(map[string]any)
	for k := range s.kinds() {
		paths[k.root()] = map[string]string{"serverRelativeURL": "/openapi/v3/" + k.root()}
	}
	return map[string]any{"paths": paths}
}

// openAPI returns just enough of a document for kubectl to see that the server
// validates fields itself and knows dry runs, so that it asks for no schemas.
func (s *Server) openAPI(root string) map[string]any {
	paths := make(map[string]any)
	parameter := func(name string) map[string]any {
		return map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}}
	}
	for k := range s.kinds() {
		if k.root() != root {
			continue
		}
		path := "/" + root + "/"
		if k.namespaced {
			path += "namespaces/{namespace}/"
		}
		paths[path+k.plural+"/{name}"] = map[string]any{"patch": map[string]any{
			"parameters": []any{parameter("fieldValidation"), parameter("dryRun")},
			"responses":  map[string]any{},
			"x-kubernetes-group-version-kind": map[string]string{
				"group": k.Group, "version": k.Version, "kind": k.Kind,
			},
		}}
	}
	if len(paths) == 0 {
		return nil
	}
	return map[string]any{
		"openapi": "3.0.0", "paths": paths,
		"info": map[string]string{"title": "Kubernetes", "version": s.o.Version},
	}
}
