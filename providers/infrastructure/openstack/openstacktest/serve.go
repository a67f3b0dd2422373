package openstacktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// service is one API of a region.
type service struct {
	kind    string // type in the catalogue
	name    string
	prefix  string // of its paths, below the region
	version string // path of its API below prefix
	suffix  string // what the catalogue's endpoint has after prefix
	routes  []route
	mux     *http.ServeMux
	// refuse returns the body of an error as the service writes it.
	refuse func(e *apiError) Object
	// stamp gives a new thing what every thing of the service has.
	stamp func(o Object, now time.Time)
}

// route is what one method and path of a service does. Handlers run with the
// cloud locked; a nil result is an empty body.
type route struct {
	method, path string
	status       int
	do           func(k *call) (any, error)
}

// call is one request, authenticated and decoded.
type call struct {
	*Cloud
	r       *region
	s       *service
	req     *http.Request
	path    string // as it came
	query   url.Values
	body    Object
	header  http.Header // of the answer
	user    *user
	project string // id
	minor   int    // microversion
	now     time.Time
}

// arg returns the part of the path called name.
func (k *call) arg(name string) string { return k.req.PathValue(name) }

// apiError is a refusal. Type is what Neutron calls an error.
type apiError struct {
	status  int
	kind    string
	message string
}

// Error implements error.
func (e *apiError) Error() string { return e.message }

func refuse(status int, kind, format string, args ...any) *apiError {
	return &apiError{status, kind, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, path := c.locate(req.URL.Path)
	entry := Call{Service: name, Method: req.Method, Path: path, Query: req.URL.RawQuery}
	entry.N = c.log.add(entry)
	f := c.fault(entry)
	c.mu.Lock()
	delay := c.options.Delays.Call
	c.mu.Unlock()
	pause(req, delay+f.Delay)
	if f.Do != nil {
		f.Do(entry)
	}
	switch {
	case f.Cut == Before:
		panic(http.ErrAbortHandler)
	case f.Hang == Before:
		pause(req, forever)
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		f.answer(w)
		return
	}
	status, header, body := c.handle(req)
	switch {
	case f.Cut == After:
		panic(http.ErrAbortHandler)
	case f.Hang == After:
		pause(req, forever)
		panic(http.ErrAbortHandler)
	}
	c.log.done(entry.N, status)
	maps.Copy(w.Header(), header)
	writeJSON(w, status, body)
}

const forever = 24 * time.Hour

// pause waits for d or until the client stops waiting for the answer.
func pause(req *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-req.Context().Done():
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the other side may be gone
}

// locate returns the type of the service that a path leads to, and the path
// below the service's version.
func (c *Cloud) locate(path string) (kind, rest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.services {
		_, after, ok := strings.Cut(path, "/"+s.prefix+"/")
		if !ok && !strings.HasSuffix(path, "/"+s.prefix) {
			continue
		}
		rest := strings.TrimPrefix("/"+after, s.version)
		return s.kind, "/" + strings.Trim(rest, "/")
	}
	return "", path
}

// handle does what a request asks for.
func (c *Cloud) handle(req *http.Request) (status int, header http.Header, body any) {
	header = http.Header{"X-Openstack-Request-Id": {"req-test"}}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return http.StatusBadRequest, header, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	k := &call{Cloud: c, req: req, path: req.URL.Path, query: req.URL.Query(), header: header, now: time.Now()}
	do := k.route()
	if k.s == nil {
		return http.StatusNotFound, header, nil
	}
	if do.do == nil {
		return http.StatusNotFound, header, k.s.refuse(refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found."))
	}
	out, err := k.run(do, raw)
	if err == nil {
		return do.status, header, copyJSON(out)
	}
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		panic(err) // handlers return no other
	}
	if e.status == http.StatusUnauthorized {
		header.Set("Www-Authenticate", "Keystone uri=\""+base(req)+"/identity/v3\"")
		return e.status, header, identityError(e)
	}
	return e.status, header, k.s.refuse(e)
}

// route finds the region, the service and what it does for the request's path.
func (k *call) route() route {
	for _, s := range k.services {
		for _, r := range k.regions {
			root := "/" + r.name + "/" + s.prefix
			if s.kind == "identity" {
				root = "/" + s.prefix
			}
			rest, ok := strings.CutPrefix(k.req.URL.Path, root)
			if !ok || rest != "" && rest[0] != '/' {
				continue
			}
			k.s, k.r = s, r
			k.req = k.req.Clone(k.req.Context())
			k.req.URL.Path, k.req.URL.RawPath = "/"+strings.TrimPrefix(rest, "/"), ""
			m := &match{}
			s.mux.ServeHTTP(m, k.req)
			return m.route
		}
	}
	return route{}
}

// match is where a service's mux leaves the route that it found. It sets the
// values of the path in the request.
type match struct{ route route }

// Header implements http.ResponseWriter.
func (*match) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (*match) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (*match) WriteHeader(int) {}

// start makes the mux of a service.
func (s *service) start() *service {
	s.mux = http.NewServeMux()
	for _, r := range s.routes {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, _ *http.Request) {
			w.(*match).route = r //nolint:forcetypeassert // the only writer that it is called with
		})
	}
	return s
}

// run authenticates and decodes a request and calls its handler.
func (k *call) run(do route, raw []byte) (any, error) {
	open := do.path == "/" || do.path == k.s.version+"/{$}" || do.path == k.s.version || k.s.kind == "identity" && do.method == http.MethodPost
	if !open {
		if err := k.authenticate(); err != nil {
			return nil, err
		}
	}
	if err := k.negotiate(); err != nil {
		return nil, err
	}
	k.body = Object{}
	if len(raw) > 0 && json.Unmarshal(raw, &k.body) != nil {
		return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Malformed request body")
	}
	return do.do(k)
}

// copyJSON encodes what a handler returned while the cloud is still locked.
func copyJSON(v any) any {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // an Object holds nothing that JSON does not
	}
	return json.RawMessage(raw)
}

// base returns the URL that the caller reached the cloud by.
func base(req *http.Request) string {
	scheme := "http"
	if req.TLS != nil || req.URL.Scheme == "https" {
		scheme = "https"
	}
	return scheme + "://" + req.Host
}

// admin reports whether the caller sees the things of all projects.
func (k *call) admin() bool { return k.user != nil && k.user.admin }

// sees reports whether the caller may see o.
func (k *call) sees(o Object) bool {
	return k.admin() || o.String("project_id") == k.project || o.Bool("shared") || o.Bool("router:external") ||
		slices.Contains([]string{"public", "community"}, o.String("visibility"))
}

// find returns a thing that the caller may see, nil where there is none.
func (k *call) find(kind Kind, id string) Object {
	o := k.r.tables[kind].get(id)
	if o == nil || !k.sees(o) {
		return nil
	}
	return o
}

// mine returns those of a kind that belong to the caller's project.
func (k *call) mine(kind Kind) []Object { return k.r.tables[kind].where("project_id", k.project) }

// drop removes a thing.
func (k *call) drop(kind Kind, id string) {
	k.r.tables[kind].remove(id, k.clock(), k.options.Delays.Listing)
}
