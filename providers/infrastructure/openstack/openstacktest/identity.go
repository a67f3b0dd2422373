package openstacktest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// identity is what Keystone has.
type identity struct {
	projects    []Object
	users       []*user
	credentials []credential
	tokens      map[string]token
}

type user struct {
	id, name, password, project string // project is an id
	admin                       bool
}

// credential is an application credential.
type credential struct{ id, name, secret, user string }

type token struct {
	user    *user
	expires time.Time
}

func (c *Cloud) seedIdentity() {
	c.identity.tokens = make(map[string]token)
	for _, p := range []string{"admin", "alpha", "beta"} {
		c.identity.projects = append(c.identity.projects, Object{"id": c.newID(), "name": p})
	}
	for _, u := range [][2]string{{"admin", "admin"}, {"alice", "alpha"}, {"carol", "alpha"}, {"bob", "beta"}} {
		c.identity.users = append(c.identity.users, &user{
			id: c.newID(), name: u[0], password: u[0] + "-secret", project: c.identity.projectID(u[1]), admin: u[0] == "admin",
		})
	}
}

// projectID returns the id of the project called name, which is there.
func (i *identity) projectID(name string) string {
	for _, p := range i.projects {
		if p.String("name") == name {
			return p.ID()
		}
	}
	panic("openstacktest: there is no project " + name)
}

func (i *identity) user(match func(*user) bool) *user {
	n := slices.IndexFunc(i.users, match)
	if n < 0 {
		return nil
	}
	return i.users[n]
}

// ProjectID returns the id of a project: alpha, beta or admin.
func (c *Cloud) ProjectID(name string) string { return c.identity.projectID(name) }

// SetPassword changes the password of a user, whose tokens stay good.
func (c *Cloud) SetPassword(name, password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.identity.user(func(u *user) bool { return u.name == name }); u != nil {
		u.password = password
	}
}

// RevokeTokens makes all tokens invalid that were given out.
func (c *Cloud) RevokeTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.identity.tokens)
}

// ApplicationCredential makes an application credential of a user.
func (c *Cloud) ApplicationCredential(name string) (id, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id = c.newID()
	c.identity.credentials = append(c.identity.credentials, credential{id: id, name: "credential-" + id[:4], secret: id + "-secret", user: name})
	return id, id + "-secret"
}

// CloudsYAML returns a clouds.yaml with one cloud, "openstack", for a user with
// a password, where the cloud is reached by url.
func (c *Cloud) CloudsYAML(url, name string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.identity.user(func(u *user) bool { return u.name == name })
	return fmt.Appendf(nil, `clouds:
  openstack:
    auth:
      auth_url: %s/identity/v3
      username: %s
      password: %s
      project_id: %s
      user_domain_name: Default
    region_name: %s
    interface: public
    identity_api_version: 3
`, url, u.name, u.password, u.project, c.regions[0].name)
}

func (c *Cloud) identityService() *service {
	version := Object{"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": []Object{}}
	versions := Object{"versions": Object{"values": []Object{version}}}
	return &service{
		kind: "identity", name: "keystone", prefix: "identity", version: "/v3", suffix: "/v3", refuse: identityError,
		routes: []route{
			{"GET", "/{$}", http.StatusMultipleChoices, func(*call) (any, error) { return versions, nil }},
			{"GET", "/v3", http.StatusOK, func(*call) (any, error) { return Object{"version": version}, nil }},
			{"GET", "/v3/{$}", http.StatusOK, func(*call) (any, error) { return Object{"version": version}, nil }},
			{"POST", "/v3/auth/tokens", http.StatusCreated, createToken},
			{"GET", "/v3/auth/catalog", http.StatusOK, func(k *call) (any, error) { return Object{"catalog": k.catalog()}, nil }},
			{"DELETE", "/v3/auth/tokens", http.StatusNoContent, func(k *call) (any, error) {
				delete(k.identity.tokens, k.req.Header.Get("X-Subject-Token"))
				return nil, nil
			}},
		},
	}
}

func identityError(e *apiError) Object {
	return Object{"error": Object{"code": e.status, "message": e.message, "title": http.StatusText(e.status)}}
}

var errUnauthorized = refuse(http.StatusUnauthorized, "", "The request you have made requires authentication.")

// authenticate finds who calls by the token.
func (k *call) authenticate() error {
	t, ok := k.identity.tokens[k.req.Header.Get("X-Auth-Token")]
	if !ok || !k.now.Before(t.expires) {
		return errUnauthorized
	}
	k.user, k.project = t.user, t.user.project
	return nil
}

func createToken(k *call) (any, error) {
	auth := k.body.Object("auth")
	u := k.identify(auth.Object("identity"))
	if u == nil {
		return nil, errUnauthorized
	}
	var project Object
	for _, p := range k.identity.projects {
		if p.ID() == u.project {
			project = p
		}
	}
	if scope := auth.Object("scope").Object("project"); scope != nil && scope.ID() != project.ID() && scope.String("name") != project.String("name") {
		return nil, errUnauthorized
	}
	k.user, k.project = u, u.project
	id, expires := "gAAAA-"+k.newID(), k.now.Add(k.options.TokenLife)
	k.identity.tokens[id] = token{u, expires}
	k.header.Set("X-Subject-Token", id)
	domain := Object{"id": "default", "name": "Default"}
	role := "member"
	if u.admin {
		role = "admin"
	}
	return Object{"token": Object{
		"methods": []string{"password"}, "audit_ids": []string{k.newID()[:8]},
		"user":    Object{"id": u.id, "name": u.name, "domain": domain, "password_expires_at": nil},
		"project": Object{"id": project.ID(), "name": project["name"], "domain": domain},
		"roles":   []Object{{"id": role, "name": role}}, "is_domain": false,
		"issued_at": k.now.UTC().Format(microTime), "expires_at": expires.UTC().Format(microTime),
		"catalog": k.catalog(),
	}}, nil
}

// identify returns the user that the methods of a token request prove.
func (k *call) identify(in Object) *user {
	for _, method := range in.Strings("methods") {
		switch method {
		case "password":
			given := in.Object("password").Object("user")
			u := k.identity.user(func(u *user) bool { return u.id == given.ID() || u.name == given.String("name") })
			if u != nil && u.password == given.String("password") {
				return u
			}
		case "application_credential":
			given := in.Object("application_credential")
			for _, a := range k.identity.credentials {
				named := a.name == given.String("name") && given.Object("user").String("name") == a.user
				if (a.id == given.ID() || named) && a.secret == given.String("secret") {
					return k.identity.user(func(u *user) bool { return u.name == a.user })
				}
			}
		case "token":
			if t, ok := k.identity.tokens[in.Object("token").ID()]; ok && k.now.Before(t.expires) {
				return t.user
			}
		}
	}
	return nil
}

// catalog has the URLs by which the caller reached the cloud: a cloud of two names has two.
func (k *call) catalog() []Object {
	var out []Object
	for _, s := range k.services {
		if slices.Contains(k.options.Without, s.kind) {
			continue
		}
		var endpoints []Object
		for _, r := range k.regions {
			url := base(k.req) + "/" + r.name + "/" + s.prefix + strings.ReplaceAll(s.suffix, "{project}", k.project)
			if s.kind == "identity" {
				url = base(k.req) + "/" + s.prefix + s.suffix
			}
			for _, i := range []string{"public", "internal", "admin"} {
				endpoints = append(endpoints, Object{
					"id": s.kind + "-" + r.name + "-" + i, "interface": i, "region": r.name, "region_id": r.name, "url": url,
				})
			}
		}
		entry := Object{"id": s.kind, "type": s.kind, "name": s.name, "endpoints": endpoints}
		if k.options.WithoutServiceIDs {
			delete(entry, "id")
		}
		out = append(out, entry)
	}
	return out
}

const microTime = "2006-01-02T15:04:05.000000Z"
