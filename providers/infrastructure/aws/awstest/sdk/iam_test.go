package sdk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

const (
	issuer = "https://oidc.eks.eu-central-1.amazonaws.com/id/A1"
	trust  = "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/A1"
)

// iamPairs returns requests to IAM, as the SDK sends them and as the provider does.
func iamPairs(x *iam.Client, place *cloud.Place) map[string]pair {
	arn, tags := aws.String(trust), []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}
	ourTags := cloud.Tags{"a": "1", "b": "2"}
	return map[string]pair{
		"ListOpenIDConnectProviders": {
			func(ctx context.Context) error {
				return errOf(x.ListOpenIDConnectProviders(ctx, &iam.ListOpenIDConnectProvidersInput{}))
			},
			func(ctx context.Context) error { return errOf(place.Trusts(ctx)) },
		},
		"GetOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))
			},
			func(ctx context.Context) error { return errOf(place.Trust(ctx, trust)) },
		},
		"CreateOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String(issuer), ClientIDList: []string{"sts.amazonaws.com"}, Tags: tags}))
			},
			func(ctx context.Context) error { return place.CreateTrust(ctx, issuer, cloud.TokensForSTS, ourTags) },
		},
		"TagOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.TagOpenIDConnectProvider(ctx, &iam.TagOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, Tags: tags}))
			},
			func(ctx context.Context) error { return place.TagTrust(ctx, trust, ourTags) },
		},
		"UntagOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.UntagOpenIDConnectProvider(ctx, &iam.UntagOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, TagKeys: []string{"a", "b"}}))
			},
			func(ctx context.Context) error { return place.UntagTrust(ctx, trust, []string{"a", "b"}) },
		},
		"AddClientIDToOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.AddClientIDToOpenIDConnectProvider(ctx, &iam.AddClientIDToOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, ClientID: aws.String("sts.amazonaws.com")}))
			},
			func(ctx context.Context) error { return place.AddAudience(ctx, trust, cloud.TokensForSTS) },
		},
		"DeleteOpenIDConnectProvider": {
			func(ctx context.Context) error {
				return errOf(x.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))
			},
			func(ctx context.Context) error { return place.DeleteTrust(ctx, trust) },
		},
	}
}

// iamIn returns clients of both in a region, what records them, and the region of their last signatures.
func iamIn(t *testing.T, region string) (x *iam.Client, place *cloud.Place, theirs, ours *recorder, signed *[2]string) {
	t.Helper()
	signed = new([2]string)
	note := func(i int, base http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
			if parts := strings.Split(scope, "/"); len(parts) > 3 {
				signed[i] = parts[2] + " " + parts[3]
			}
			return base.RoundTrip(r)
		})
	}
	c := awstest.New(awstest.Options{Region: region})
	theirs, ours = &recorder{RoundTripper: note(0, c.Client())}, &recorder{RoundTripper: note(1, c.Client())}
	cfg := config(c)
	cfg.HTTPClient = &http.Client{Transport: theirs}
	return iam.NewFromConfig(cfg), placeOf(t, ours, region, api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity}), theirs, ours, signed
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRequestsToIAM: what the provider's client sends is what the SDK's client would send.
func TestRequestsToIAM(t *testing.T) {
	x, place, theirs, ours, _ := iamIn(t, "eu-central-1")
	for name, tc := range iamPairs(x, place) {
		t.Run(name, func(t *testing.T) {
			theirs.sent, ours.sent = nil, nil
			_, _ = tc.theirs(t.Context()), tc.ours(t.Context())
			if d := cmp.Diff(theirs.of(name, false), ours.of(name, false)); d != "" || theirs.of(name, false) == nil {
				t.Errorf("-the SDK +the provider:\n%s", d)
			}
		})
	}
}

// TestHomeOfIAM: each partition has IAM in one region, which signatures name.
func TestHomeOfIAM(t *testing.T) {
	for _, region := range []string{"eu-central-1", "cn-northwest-1", "us-gov-east-1", "us-iso-west-1", "us-isob-east-1", "us-isof-east-1", "eu-isoe-west-1", "eusc-de-east-1"} {
		x, place, theirs, ours, signed := iamIn(t, region)
		_, _ = x.ListOpenIDConnectProviders(t.Context(), &iam.ListOpenIDConnectProvidersInput{})
		_, _ = place.Trusts(t.Context())
		const list = "ListOpenIDConnectProviders"
		if d := cmp.Diff(theirs.of(list, false)["to"], ours.of(list, false)["to"]); d != "" || signed[0] != signed[1] || signed[0] == "" {
			t.Errorf("%s: signed for %q; -the SDK +the provider:\n%s", region, *signed, d)
		}
	}
}

// TestAnswersOfIAM: the SDK reads what the cloud answers, and the provider's client reads the same.
func TestAnswersOfIAM(t *testing.T) {
	x, place, _, _, _ := iamIn(t, "eu-central-1")
	made := must[*iam.CreateOpenIDConnectProviderOutput](t)(x.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(issuer), ClientIDList: []string{"sts.amazonaws.com", "b"}, Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	}))
	if *made.OpenIDConnectProviderArn != trust {
		t.Errorf("its ARN is %s", *made.OpenIDConnectProviderArn)
	}
	theirs := must[*iam.GetOpenIDConnectProviderOutput](t)(x.GetOpenIDConnectProvider(t.Context(), &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(trust)}))
	ours := must[*cloud.Trust](t)(place.Trust(t.Context(), trust))
	if d := cmp.Diff(theirs.ClientIDList, ours.Audiences); d != "" || len(theirs.Tags) != 1 || ours.Tags["a"] != "1" || ours.ARN != must[string](t)(place.TrustARN(t.Context(), issuer)) {
		t.Errorf("the SDK reads %+v, the provider %+v", theirs, ours)
	}
	if all := must[[]string](t)(place.Trusts(t.Context())); len(all) != 1 || all[0] != trust {
		t.Errorf("listed: %q", all)
	}
	_, err := x.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{Url: aws.String(issuer)})
	if code(err) != "EntityAlreadyExists" || !cloud.Is(place.CreateTrust(t.Context(), issuer, cloud.TokensForSTS, nil), "EntityAlreadyExists") {
		t.Errorf("one that is there: %v", err)
	}
}
