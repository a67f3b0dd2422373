package azuretest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RoundTrip implements http.RoundTripper: the cloud in this process.
func (c *Cloud) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	if q.Body != nil {
		defer q.Body.Close()
	}
	w := httptest.NewRecorder()
	if !c.serve(w, q) {
		return nil, errEnded
	}
	out := w.Result()
	out.Request = q
	return out, nil
}

// ServeHTTP implements http.Handler: the cloud behind a server.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !c.serve(w, q) {
		panic(http.ErrAbortHandler)
	}
}

// serve answers a request, and reports whether there is an answer.
func (c *Cloud) serve(w http.ResponseWriter, q *http.Request) bool {
	if strings.HasSuffix(q.URL.Path, "/oauth2/v2.0/token") {
		c.login(w, q)
		return true
	}
	if q.URL.Path == "/metadata/identity/oauth2/token" {
		c.machineToken(w, q)
		return true
	}
	call := Call{ID: q.URL.Path}
	if q.Body != nil {
		data, err := io.ReadAll(q.Body)
		if err != nil {
			return false
		}
		if len(data) > 0 && json.Unmarshal(data, &call.Body) != nil {
			refuse(w, http.StatusBadRequest, "InvalidRequestContent", "the body is no JSON")
			return true
		}
	}
	listing := isListing(q.URL.Path)
	call.Method = q.Method + " " + kindOf(q.URL.Path)
	if listing {
		call.Method = "LIST " + strings.ToLower(nameOf(strings.TrimSuffix(q.URL.Path, "/")))
	}
	c.mu.Lock()
	told, f := c.watch, c.faultOf(call)
	c.mu.Unlock()
	if told != nil {
		told(call)
	}
	if f.Do != nil {
		f.Do(call)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Cut {
		c.calls = append(c.calls, call)
		return false
	}
	answer := httptest.NewRecorder()
	switch {
	case f.Body != "":
		answer.WriteHeader(f.Status)
		answer.Body.WriteString(f.Body)
	case f.Status != 0:
		maps.Copy(answer.Header(), f.Header)
		refuse(answer, f.Status, f.Code, f.Message)
	case c.allowed(answer, q, call):
		c.pass()
		if listing {
			c.list(answer, q)
		} else {
			c.one(answer, q, call)
		}
	}
	call.Status = answer.Code
	if f.Lose {
		call.Status = 0
	}
	c.calls = append(c.calls, call)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // who asked is gone
	return !f.Lose
}

// isListing reports whether a path is one of several resources.
func isListing(at string) bool {
	lower := strings.ToLower(strings.Trim(at, "/"))
	if _, rest, ok := strings.Cut(lower, "/providers/"); ok {
		return len(strings.Split(rest, "/"))%2 == 0
	}
	return len(strings.Split(lower, "/"))%2 == 1
}

// A bucket is what is left of a budget of requests.
type bucket struct {
	left float64
	at   time.Time
}

// allowed checks the token, the budget and the rights of a request.
func (c *Cloud) allowed(w http.ResponseWriter, q *http.Request, call Call) bool {
	bearer := strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	switch {
	case !time.Now().Before(c.tokens[bearer]):
		refuse(w, http.StatusUnauthorized, "ExpiredAuthenticationToken", "The access token expiry time is earlier than current time.")
		return false
	case q.URL.Query().Get("api-version") == "":
		refuse(w, http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
		return false
	case !strings.HasPrefix(strings.ToLower(q.URL.Path), "/subscriptions/"+Subscription):
		refuse(w, http.StatusNotFound, "SubscriptionNotFound", "The subscription could not be found.")
		return false
	}
	name, most, refill := "writes", 200.0, 10.0
	if q.Method == http.MethodGet {
		name, most, refill = "reads", 250.0, 25.0
	}
	if c.o.Fast {
		most = 1e9
	}
	b := c.buckets[name]
	if b == nil {
		b = &bucket{most, time.Now()}
		c.buckets[name] = b
	}
	b.left = min(most, b.left+refill*time.Since(b.at).Seconds())
	b.at = time.Now()
	if b.left < 1 {
		w.Header().Set("Retry-After", "2")
		refuse(w, http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "Number of requests for subscription exceeded the limit.")
		return false
	}
	b.left--
	w.Header().Set("X-Ms-Ratelimit-Remaining-Subscription-"+name, strconv.Itoa(int(b.left)))
	if _, kind, _ := strings.Cut(call.Method, " "); c.denied[kind] {
		refuse(w, http.StatusForbidden, "AuthorizationFailed", "The client does not have authorization to perform action on "+kind+".")
		return false
	}
	return c.authorised(w, q, call)
}

// one answers a request for one resource.
func (c *Cloud) one(w http.ResponseWriter, q *http.Request, call Call) {
	id := strings.ToLower(strings.TrimSuffix(q.URL.Path, "/"))
	seg := strings.Split(id, "/")
	group := strings.Join(seg[:min(5, len(seg))], "/")
	r := c.res[id]
	if g := c.res[group]; group != id && g == nil && !strings.Contains(id, "/locations/") {
		refuse(w, http.StatusNotFound, "ResourceGroupNotFound", "Resource group '"+nameOf(group)+"' could not be found.")
		return
	} else if g != nil && group != id && q.Method == http.MethodPut && g.state() == "Deleting" {
		refuse(w, http.StatusConflict, "ResourceGroupBeingDeleted", "The resource group is in deprovisioning state and cannot perform this operation.")
		return
	}
	if of, ok := strings.CutSuffix(id, "/providers/microsoft.resources/tags/default"); ok {
		c.patchTags(w, call, c.res[of])
		return
	}
	switch q.Method {
	case http.MethodGet:
		if r == nil && (kindOf(id) == "versions" || kindOf(id) == "images") && !strings.Contains(id, "missing") { // all images but those
			reply(w, http.StatusOK, object{"id": q.URL.Path, "name": nameOf(id)})
			return
		}
		if r == nil {
			refuse(w, http.StatusNotFound, "ResourceNotFound", "The Resource under resource group was not found.")
			return
		}
		reply(w, http.StatusOK, c.shown(r, q.URL.Query()))
	case http.MethodPut:
		c.put(w, q, q.URL.Path, call.Body, r)
	case http.MethodDelete:
		c.remove(w, q, r)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "")
	}
}

// holds checks the conditions of a change.
func holds(w http.ResponseWriter, q *http.Request, r *resource) bool {
	etag := any(nil)
	if r != nil {
		in, name := r.etagIn()
		etag = in[name]
	}
	if m := q.Header.Get("If-Match"); m != "" && m != "*" && etag != m {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "Precondition failed.")
		return false
	}
	if q.Header.Get("If-None-Match") == "*" && r != nil {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "Precondition failed.")
		return false
	}
	return true
}

// tagged checks the tags of a request.
func tagged(w http.ResponseWriter, body object) bool {
	tags, seen := tagsOf(body), map[string]bool{}
	for k, v := range tags {
		lower := strings.ToLower(k)
		switch {
		case strings.ContainsAny(k, `<>%&\?/`), seen[lower]:
			refuse(w, http.StatusBadRequest, "InvalidTagNameCharacters", "The tag name '"+k+"' has reserved characters, or is there twice.")
			return false
		case len(k) > 512 || len(v) > 256:
			refuse(w, http.StatusBadRequest, "InvalidTag", "The tag '"+k+"' is too long.")
			return false
		}
		seen[lower] = true
	}
	if len(tags) > 50 {
		refuse(w, http.StatusBadRequest, "TooManyTags", "A resource has 50 tags at most.")
		return false
	}
	return true
}

func (c *Cloud) put(w http.ResponseWriter, q *http.Request, id string, body object, r *resource) {
	if !holds(w, q, r) || !tagged(w, body) {
		return
	}
	if body == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestContent", "there is no body")
		return
	}
	delete(body, "etag")
	if r != nil && r.state() == "Deleting" {
		refuse(w, http.StatusConflict, "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")
		return
	}
	kind := kindOf(id)
	if r != nil && body["location"] != nil && body["location"] != r.body["location"] {
		refuse(w, http.StatusConflict, "InvalidResourceLocation", "The resource already exists in another location.")
		return
	}
	if kind == "resourcegroups" {
		status := http.StatusCreated
		if r != nil {
			status = http.StatusOK
		}
		made := c.store(id, body)
		if made.made = time.Now(); r != nil {
			made.made = r.made
		}
		reply(w, status, made.body)
		return
	}
	switch kind {
	case "virtualmachines":
		if q.URL.Query().Get("api-version") < tagsOfParts && hasTaggedParts(properties(body)) {
			refuse(w, http.StatusBadRequest, "BadRequest", "Could not find member 'tags' on object of type 'VirtualMachineNetworkInterfaceConfiguration'.") // the text is not that of Azure
			return
		}
		c.putVM(w, id, body, r)
		return
	case managedKind:
		c.putManaged(w, id, body, r)
		return
	case poolKind:
		c.putPool(w, id, body, r)
		return
	}
	switch {
	case isExtension(id):
		c.putExtension(w, id, body, r)
		return
	case strings.Contains(strings.ToLower(id), "/microsoft.kubernetesconfiguration/"):
		c.putClusterExtension(w, id, body, r)
		return
	case kind == memberKind:
		c.putMember(w, id, body, r)
		return
	}
	c.putNetwork(w, id, kind, body, r)
}

// patchTags changes the tags of a resource alone.
func (c *Cloud) patchTags(w http.ResponseWriter, call Call, r *resource) {
	if r == nil {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "The Resource was not found.")
		return
	}
	tags, changes := tagsOf(r.body), tagsOf(properties(call.Body))
	if tags == nil {
		tags = map[string]string{}
	}
	for k, v := range changes {
		for has, value := range tags {
			if strings.EqualFold(has, k) && (call.Body["operation"] == "Merge" || value == v) {
				delete(tags, has)
			}
		}
		if call.Body["operation"] == "Merge" {
			tags[k] = v
		}
	}
	all := object{}
	for k, v := range tags {
		all[k] = v
	}
	if !tagged(w, object{"tags": all}) {
		return
	}
	r.body["tags"] = all
	c.stamp(r)
	reply(w, http.StatusOK, object{"properties": object{"tags": all}})
}

// accept answers a request that goes on.
func (c *Cloud) accept(w http.ResponseWriter, status int, r *resource) {
	c.n++
	w.Header().Set("Azure-Asyncoperation", fmt.Sprintf("https://management.azure.com/subscriptions/%s/providers/Microsoft.Network/locations/%s/operations/%d?api-version=1", Subscription, Location, c.n))
	w.Header().Set("Retry-After", "10")
	if status == http.StatusAccepted {
		w.WriteHeader(status)
		return
	}
	reply(w, status, c.shown(r, nil))
}

func (c *Cloud) remove(w http.ResponseWriter, q *http.Request, r *resource) {
	if r == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !holds(w, q, r) {
		return
	}
	if c.locked[r.kind] {
		refuse(w, http.StatusConflict, "ScopeLocked", "The scope cannot perform delete operation because following scope(s) are locked.")
		return
	}
	if r.state() == "Deleting" {
		c.accept(w, http.StatusAccepted, r)
		return
	}
	if r.kind == managedKind || r.kind == poolKind {
		c.removeManaged(w, r)
		return
	}
	if why, code := c.inUse(r); why != "" {
		refuse(w, http.StatusBadRequest, code, "Resource "+r.id+" is in use by "+why+".")
		return
	}
	if kindIsCompute(r.kind) && r.kind == "virtualmachines" {
		c.leave(r)
	}
	c.begin(r, "Deleting", c.o.Delete, func() { c.gone(r) })
	c.accept(w, http.StatusAccepted, r)
}

func kindIsCompute(kind string) bool {
	return kind == "virtualmachines" || kind == "disks" || kind == "availabilitysets"
}

// gone takes a resource away with what is below it.
func (c *Cloud) gone(r *resource) {
	at := strings.ToLower(r.id)
	maps.DeleteFunc(c.res, func(k string, _ *resource) bool { return k == at || strings.HasPrefix(k, at+"/") })
	switch r.kind {
	case "virtualnetworks", halfKind:
		c.disconnect()
	case "virtualmachines":
		c.goneVM(r)
	case managedKind, poolKind:
		c.goneManaged(r)
	case endpointKind:
		c.goneEndpoint(r)
	case "networkinterfaces":
		c.goneAddresses(r)
	}
}

// shown returns a resource as a GET gives it.
func (c *Cloud) shown(r *resource, q url.Values) object {
	out := clone(r.body)
	switch r.kind {
	case "virtualnetworks":
		subnets := []any{}
		for _, k := range slices.Sorted(maps.Keys(c.res)) {
			if s := c.res[k]; s.kind == "subnets" && strings.HasPrefix(k, strings.ToLower(r.id)+"/") {
				is := clone(s.body)
				properties(is)["privateEndpoints"] = c.endpointsOf(s.id)
				subnets = append(subnets, is)
			}
		}
		properties(out)["subnets"] = subnets
		properties(out)["virtualNetworkPeerings"] = c.halvesOf(r)
	case managedKind:
		c.shownManaged(r, out)
	case "virtualmachines":
		if q.Get("$expand") != "instanceView" {
			delete(properties(out), "instanceView")
		}
	}
	return out
}

// list answers a listing, in pages.
func (c *Cloud) list(w http.ResponseWriter, q *http.Request) {
	at, query := strings.ToLower(strings.Trim(q.URL.Path, "/")), q.URL.Query()
	kind := at[strings.LastIndexByte(at, '/')+1:]
	if kind == "listclusteradmincredential" {
		c.credential(w, q)
		return
	}
	if set := c.res["/"+strings.TrimSuffix(at, "/"+kind)]; set != nil && set.kind == scaleSetKind {
		c.listInstances(w, set)
		return
	}
	if kind == "permissions" {
		actions, not := c.permissions()
		reply(w, http.StatusOK, object{"value": []object{{"actions": actions, "notActions": not}}})
		return
	}
	if kind == "usages" {
		all := []object{}
		for _, name := range slices.Sorted(maps.Keys(c.usages)) {
			all = append(all, object{"name": object{"value": name, "localizedValue": name}, "currentValue": c.usages[name][0], "limit": c.usages[name][1], "unit": "Count"})
		}
		c.page(w, q, kind, all)
		return
	}
	if kind == "skus" {
		reply(w, http.StatusOK, object{"value": c.skus()})
		return
	}
	scope, _, _ := strings.Cut("/"+at, "/providers/")
	if kind == "resources" || kind == "resourcegroups" {
		scope = strings.TrimSuffix("/"+at, "/"+kind)
	}
	if seg := strings.Split(scope, "/"); len(seg) > 4 && c.res[strings.Join(seg[:5], "/")] == nil {
		refuse(w, http.StatusNotFound, "ResourceGroupNotFound", "Resource group '"+seg[4]+"' could not be found.")
		return
	}
	if _, rest, ok := strings.Cut("/"+at, "/providers/"); ok { // of what is below another
		seg := strings.Split(rest, "/")
		if len(strings.Split(scope, "/")) > 3 || len(seg) > 2 { // all of a subscription are in its groups
			scope += "/providers/" + strings.Join(seg[:len(seg)-1], "/")
		}
	}
	var name, value string
	if f := query.Get("$filter"); strings.HasPrefix(f, "tagName") {
		_, _ = fmt.Sscanf(strings.ReplaceAll(f, "'", " "), "tagName eq %s and tagValue eq %s", &name, &value)
	}
	var found []object
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		r := c.res[k]
		if kind == "resources" && (strings.Count(k, "/") != 8) || kind != "resources" && r.kind != kind || !strings.HasPrefix(k, scope+"/") {
			continue
		}
		if time.Since(r.made) < c.o.Lag || name != "" && tagsOf(r.body)[name] != value {
			continue
		}
		body := c.shown(r, query)
		if kind == "resources" {
			body = object{"id": body["id"], "name": body["name"], "type": strings.Split(r.id, "/")[6] + "/" + strings.Split(r.id, "/")[7], "location": body["location"], "tags": body["tags"]}
			if name != "" { // Azure leaves them out where it filters by them
				delete(body, "tags")
			}
		}
		if kindIsCompute(kind) { // Compute writes the group in capitals in listings
			seg := strings.Split(fmt.Sprint(body["id"]), "/")
			seg[4] = strings.ToUpper(seg[4])
			body["id"] = strings.Join(seg, "/")
		}
		found = append(found, body)
	}
	c.page(w, q, kind, found)
}

// page answers a listing of a kind with one page.
func (c *Cloud) page(w http.ResponseWriter, q *http.Request, kind string, found []object) {
	query := q.URL.Query()
	from, _ := strconv.Atoi(query.Get("$skiptoken"))
	from = min(from, len(found))
	to := min(from+c.o.Page, len(found))
	out := object{"value": found[from:to]}
	if to < len(found) {
		query.Set("$skiptoken", strconv.Itoa(to))
		next := url.URL{Scheme: "https", Host: q.URL.Host, Path: q.URL.Path, RawQuery: query.Encode()}
		if next.Host == "" {
			next.Host = q.Host
		}
		if kindIsCompute(kind) && next.Port() == "" { // Compute writes the port
			next.Host += ":443"
		}
		out["nextLink"] = next.String()
	}
	if found == nil {
		out["value"] = []any{}
	}
	reply(w, http.StatusOK, out)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked is gone
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Ms-Error-Code", code)
	reply(w, status, object{"error": object{"code": code, "message": message}})
}
