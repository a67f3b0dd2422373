package eks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/kube"
)

// The paths of the webhooks, to which the name of a cluster is added.
const (
	authenticatePath = "/authenticate/"
	authorizePath    = "/authorize/"
)

// principalKey is what EKS adds to a user for the ARN that let it in.
const principalKey = "canonicalArn"

// webhooks say who a token is of, and what its owner may do.
type webhooks struct {
	cloud   *awstest.Cloud
	running func() map[string]*kube.Running // API servers by cluster
	log     func(string)
}

// ServeHTTP implements http.Handler.
func (h *webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if cluster, ok := strings.CutPrefix(r.URL.Path, authenticatePath); ok {
		answer(w, r, func(in *authenticationv1.TokenReview) { h.authenticate(cluster, in) })
	} else if cluster, ok := strings.CutPrefix(r.URL.Path, authorizePath); ok {
		answer(w, r, func(in *authorizationv1.SubjectAccessReview) { h.authorize(cluster, in) })
	} else {
		http.NotFound(w, r)
	}
}

// answer completes the review in a request.
func answer[T any](w http.ResponseWriter, r *http.Request, complete func(*T)) {
	in := new(T)
	if err := json.NewDecoder(r.Body).Decode(in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	complete(in)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(in) // who does not listen any more is not answered
}

func (h *webhooks) authenticate(cluster string, in *authenticationv1.TokenReview) {
	u, err := h.cloud.Admit(cluster, in.Spec.Token, time.Now())
	if err != nil {
		if mapped := h.mapped(cluster, in.Spec.Token); mapped.Name != "" {
			u, err = mapped, nil
		}
	}
	in.Spec = authenticationv1.TokenReviewSpec{}
	if err != nil {
		h.log("not let in: " + err.Error())
		in.Status = authenticationv1.TokenReviewStatus{Error: err.Error()}
		return
	}
	in.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
		Username: u.Name, Groups: u.Groups, Extra: map[string]authenticationv1.ExtraValue{principalKey: {u.Principal}},
	}}
}

// mapped returns who the ConfigMap aws-auth says that the owner of a token is; without a name: it does not say it.
func (h *webhooks) mapped(cluster, token string) (u awstest.User) {
	principal, session, maps, err := h.cloud.Principal(cluster, token, time.Now())
	k := h.running()[cluster]
	if err != nil || !maps || k == nil {
		return u
	}
	pair, err := tls.X509KeyPair(k.Config.CertData, k.Config.KeyData)
	if err != nil {
		return u
	}
	to := server{host: k.Config.Host, ca: k.Config.CAData, as: []tls.Certificate{pair}}
	var m corev1.ConfigMap
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := to.call(ctx, http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/aws-auth", "", nil, &m); err != nil {
		return u
	}
	for _, text := range []string{m.Data["mapRoles"], m.Data["mapUsers"]} {
		var rows []struct {
			RoleARN, UserARN, Username string
			Groups                     []string
		}
		if err := yaml.Unmarshal([]byte(text), &rows); err != nil {
			h.log("aws-auth: " + err.Error())
		}
		for _, r := range rows {
			if r.RoleARN == principal || r.UserARN == principal {
				return awstest.User{Name: strings.ReplaceAll(r.Username, "{{SessionName}}", session), Groups: r.Groups}
			}
		}
	}
	return u
}

// authorize has no opinion of what no policy allows: RBAC may.
func (h *webhooks) authorize(cluster string, in *authorizationv1.SubjectAccessReview) {
	in.Status = authorizationv1.SubjectAccessReviewStatus{}
	principal := ""
	for k, v := range in.Spec.Extra { // the API server may write it in lower case
		if strings.EqualFold(k, principalKey) && len(v) == 1 {
			principal = v[0]
		}
	}
	var a awstest.Access
	if r := in.Spec.ResourceAttributes; r != nil {
		a = awstest.Access{Verb: r.Verb, Resource: r.Resource, Namespace: r.Namespace}
	} else if n := in.Spec.NonResourceAttributes; n != nil {
		a.Verb = n.Verb
	}
	in.Status.Allowed = principal != "" && h.cloud.Allows(cluster, principal, a)
}
