package eks

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"fairlead.dev/providers/infrastructure/aws/awstest"
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
	cloud *awstest.Cloud
	log   func(string)
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
