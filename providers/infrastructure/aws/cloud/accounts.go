package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/aws/api"
)

// Options say how to reach AWS. Zero values mean the defaults.
type Options struct {
	Tick     time.Duration `setting:"tick" usage:"maximum age of cached data of an account and region, as a 'duration'; clusters there share the cache"`
	Endpoint string        `setting:"endpoint" usage:"'URL' of all services of AWS, for a private endpoint or a test; empty: those of the region"`
	// Base is what requests go through; nil: http.DefaultTransport.
	Base http.RoundTripper
	// Sent is called with each request; nil: no call.
	Sent func(transport.Call)
	// Own are the agent's own credentials; nil: those that the SDK finds.
	Own aws.CredentialsProvider
}

// DefaultTick is how old a listing may be.
const DefaultTick = 10 * time.Second

// Accounts has a Place for each account, region and credential. It is safe for concurrent use.
type Accounts struct {
	o       Options
	base    http.RoundTripper
	secrets objects.Secrets

	mu     sync.Mutex
	places map[string]*Place
	own    aws.CredentialsProvider
}

// NewAccounts returns Accounts. Secret returns a Secret that Git does not hold; nil: there are none.
func NewAccounts(o Options, secret objects.Store) *Accounts {
	if o.Tick == 0 {
		o.Tick = DefaultTick
	}
	return &Accounts{
		o: o, base: transport.New(transport.Options{Base: o.Base, Sent: o.Sent}), own: o.Own, places: make(map[string]*Place),
		secrets: objects.Secrets{Store: objects.Kept(secret, o.Tick), Example: "AccessKeyID=FILE --from-file SecretAccessKey=FILE"},
	}
}

// Tick returns how old a listing may be.
func (a *Accounts) Tick() time.Duration { return a.o.Tick }

// Close closes all connections.
func (a *Accounts) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.places {
		p.Close()
	}
}

// Place returns where c is, whose spec is s.
func (a *Accounts) Place(ctx context.Context, c *fleet.Cluster, s *api.AWSClusterSpec) (*Place, error) {
	who, err := a.identity(ctx, c, s.Region, *s.IdentityRef, nil)
	if err != nil {
		return nil, err
	}
	key := s.Region + " " + who.digest
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.places[key]
	if p == nil {
		p = newPlace(newClient(a.base, who.credentials(), s.Region, a.o.Endpoint), a.o.Tick)
		a.places[key] = p
	}
	return p, nil
}

// A login is an identity that was found: what tells it apart, and how its credentials are got.
type login struct {
	digest      string
	credentials func() aws.CredentialsProvider
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// longestChain is how many roles may be assumed one after another.
const longestChain = 5

// identity finds the credentials that ref leads to. chain are the roles on the way.
func (a *Accounts) identity(ctx context.Context, c *fleet.Cluster, region string, ref api.IdentityReference, chain []string) (login, error) {
	op := "find the account of " + c.Key.String()
	o := objects.Companion(c, ref.Kind, ref.Name)
	if o == nil {
		if ref.Kind == api.ControllerIdentity { // what upstream makes by itself lets in all
			return a.ownLogin(ctx)
		}
		return login{}, fleet.Errorf(fleet.Unauthorized, op, "Git has no %s %s (add it to the overlay)", ref.Kind, ref.Name)
	}
	lets := func(n *api.AllowedNamespaces) error {
		in, err := n.LetsIn(c)
		switch {
		case err != nil:
			return fleet.Errorf(fleet.Invalid, op, "%s %s: %w", ref.Kind, ref.Name, err)
		case !in && len(chain) == 0:
			return fleet.Errorf(fleet.Unauthorized, op, "%s %s does not let in the namespace %s (add it to its allowedNamespaces)", ref.Kind, ref.Name, c.Key.Namespace)
		}
		return nil
	}
	switch ref.Kind {
	case api.StaticIdentity:
		spec, err := objects.Read[api.AWSClusterStaticIdentitySpec](*o, ref.Kind)
		if err == nil {
			err = lets(spec.AllowedNamespaces)
		}
		if err != nil {
			return login{}, err
		}
		return a.static(ctx, op, fleet.Key{Namespace: api.IdentityNamespace, Name: spec.SecretRef}, o)
	case api.RoleIdentity:
		spec, err := objects.Read[api.AWSClusterRoleIdentitySpec](*o, ref.Kind)
		if err == nil {
			err = lets(spec.AllowedNamespaces)
		}
		if err != nil {
			return login{}, err
		}
		if len(chain) >= longestChain {
			return login{}, fleet.Errorf(fleet.Invalid, op, "%s %s is assumed by itself, by way of others, or the chain of roles is longer than %d", ref.Kind, chain[0], longestChain)
		}
		source, err := a.identity(ctx, c, region, *spec.SourceIdentityRef, append(chain, ref.Name))
		if err != nil {
			return login{}, err
		}
		return a.role(region, spec, source), nil
	}
	spec, err := objects.Read[api.AWSClusterControllerIdentitySpec](*o, ref.Kind)
	if err == nil {
		err = lets(spec.AllowedNamespaces)
	}
	if err != nil {
		return login{}, err
	}
	return a.ownLogin(ctx)
}

// ownLogin returns the agent's own credentials, which the SDK finds: in the environment, in profiles, in
// tokens of a service account, or in the metadata of an instance.
func (a *Accounts) ownLogin(ctx context.Context) (login, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.own == nil {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return login{}, fleet.Errorf(fleet.Unauthorized, "find the agent's own credentials of AWS", "%w", err)
		}
		a.own = cfg.Credentials
	}
	own := a.own
	return login{digest: "own", credentials: func() aws.CredentialsProvider { return own }}, nil
}

// static returns an access key of a Secret.
func (a *Accounts) static(ctx context.Context, op string, k fleet.Key, o *fleet.Object) (login, error) {
	data, err := a.secrets.Find(ctx, k, o.Secrets)
	if err != nil {
		return login{}, err
	}
	id, secret, session := string(data["AccessKeyID"].Reveal()), string(data["SecretAccessKey"].Reveal()), string(data["SessionToken"].Reveal())
	if id == "" || secret == "" {
		return login{}, fleet.Errorf(fleet.Unauthorized, op, "Secret %s has no AccessKeyID or no SecretAccessKey", k)
	}
	return login{digest: digest("static", id, secret, session), credentials: func() aws.CredentialsProvider {
		return credentials.NewStaticCredentialsProvider(id, secret, session)
	}}, nil
}

// role returns a role that source assumes.
func (a *Accounts) role(region string, spec *api.AWSClusterRoleIdentitySpec, source login) login {
	name := spec.SessionName
	if name == "" {
		name = "fairlead"
	}
	form := url.Values{"RoleArn": {spec.RoleARN}, "RoleSessionName": {name}, "DurationSeconds": {strconv.Itoa(int(spec.DurationSeconds))}}
	if spec.DurationSeconds == 0 {
		form.Set("DurationSeconds", "900")
	}
	if spec.ExternalID != "" {
		form.Set("ExternalId", spec.ExternalID)
	}
	if spec.InlinePolicy != "" {
		form.Set("Policy", spec.InlinePolicy)
	}
	for i, arn := range spec.PolicyARNs {
		form.Set("PolicyArns.member."+strconv.Itoa(i+1)+".arn", arn)
	}
	return login{digest: digest("role", source.digest, form.Encode()), credentials: func() aws.CredentialsProvider {
		asking := newClient(a.base, source.credentials(), region, a.o.Endpoint)
		return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			got, err := asking.assumeRole(ctx, form)
			if err != nil {
				return aws.Credentials{}, WrapLook("assume role "+spec.RoleARN, err)
			}
			return aws.Credentials{
				AccessKeyID: got.Key, SecretAccessKey: got.Secret, SessionToken: got.Token, CanExpire: true, Expires: got.Expiration, Source: "AssumeRole",
			}, nil
		}), func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = time.Minute })
	}}
}
