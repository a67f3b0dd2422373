package aws

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// lookAtBucket finds the bucket of the cluster. That it may not be read is no reason to see nothing else.
func (v *view) lookAtBucket(ctx context.Context) error {
	b := v.spec.S3Bucket
	if b == nil {
		return nil
	}
	var err error
	if v.roles, err = v.place.RoleARN(ctx, "/", ""); err != nil { // S3 is asked for buckets of that account alone
		return err
	}
	got, err := v.place.Bucket(ctx, b.Name)
	if kind := cloud.Kind(err); kind == fleet.Unauthorized || kind == fleet.Invalid {
		v.noBucket = fleet.Errorf(kind, "read s3Bucket "+b.Name, "%w (if it is in another account or region, name another bucket)", cloud.WrapLook("", err))
		return nil
	}
	if err != nil {
		return err
	}
	if v.bucket = got; v.makesBucket() {
		v.bucket.Policy, err = v.place.BucketPolicy(ctx, b.Name)
	}
	return err
}

// makesBucket reports whether the bucket of the cluster was made for it. Of a given one nothing is changed but its objects.
func (v *view) makesBucket() bool { return v.bucket != nil && v.c.Owns(v.bucket.Tags) }

// bucketOfOthers is the store that cannot be read; empty: there is none.
func (v *view) bucketOfOthers() cloud.Store {
	if v.noBucket == nil {
		return ""
	}
	return cloud.BucketStore(v.spec.S3Bucket.Name)
}

// decideBucket decides about the bucket for the user data of machines of Ignition.
func (v *view) decideBucket(d *steps.Decision) {
	d.Faults = append(d.Faults, v.unlisted...) // which are in the way of nothing
	b := v.spec.S3Bucket
	switch {
	case b == nil:
		return
	case v.noBucket != nil:
		v.faultBefore(d, v.noBucket)
		return
	case v.bucket == nil:
		d.Add(steps.Step{What: "create bucket " + b.Name, Essential: !v.started(), Do: func(ctx context.Context) error {
			tags := v.shared("bucket", "bucket", nil)
			err := v.place.CreateBucket(ctx, b.Name, tags)
			if err == nil {
				v.bucket = &cloud.Bucket{Name: b.Name, Tags: tags}
			}
			return err
		}})
		return
	case !v.makesBucket():
		return
	}
	if want := v.bucketPolicy(); !sameJSON(v.bucket.Policy, want) {
		d.Add(steps.Step{What: "set the policy of bucket " + b.Name, Essential: !v.started(), Do: func(ctx context.Context) error {
			err := v.place.SetBucketPolicy(ctx, b.Name, want)
			if err == nil {
				v.bucket.Policy = want
			}
			return err
		}})
	}
}

// The folders of a bucket for the machines of each role, as upstream calls them.
const (
	controlPlaneFolder = "control-plane"
	nodeFolder         = "node"
)

// bucketPolicy lets in nothing without TLS, and lets the roles of instances read what is for them. Each statement has one
// principal: IAM may list several in another order.
// Source: CAPA, pkg/cloud/services/s3/s3.go.
func (v *view) bucketPolicy() string {
	type object = map[string]any
	b := v.spec.S3Bucket
	arn := "arn:" + strings.Split(v.roles, ":")[1] + ":s3:::" + b.Name
	all := []object{{
		"Sid": "OnlyTLS", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": []string{arn, arn + "/*"},
		"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
	}}
	let := func(profile, folder string) {
		all = append(all, object{
			"Sid": fmt.Sprintf("Read%d", len(all)), "Effect": "Allow", "Principal": object{"AWS": v.roles + profile}, "Action": "s3:GetObject",
			"Resource": arn + "/" + v.pathOfUserData() + folder + "/*",
		})
	}
	if b.PresignedURLDuration == "" {
		let(b.ControlPlaneIAMInstanceProfile, controlPlaneFolder)
		for _, profile := range b.NodesIAMInstanceProfiles {
			let(profile, nodeFolder)
		}
	}
	out, _ := json.Marshal(object{"Version": "2012-10-17", "Statement": all}) // maps of text always can be written
	return string(out)
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // what was read can be written
	other, _ := json.Marshal(y)
	return string(one) == string(other)
}

// deleteBucket deletes the bucket that was made for the cluster, once nothing of a machine is in it.
func (v *view) deleteBucket(d *steps.Decision) {
	if !v.makesBucket() {
		return
	}
	name := v.bucket.Name
	full := slices.ContainsFunc(v.secrets, func(s cloud.Secret) bool { return s.Store == cloud.BucketStore(name) })
	d.Add(steps.Step{What: "delete bucket " + name, Blocked: full, Do: func(ctx context.Context) error {
		err := v.place.DeleteBucket(ctx, name)
		if err == nil {
			v.bucket = nil
		}
		return err
	}})
}

// ignite returns what a machine of Ignition boots with: its configuration is an object of the bucket, and its user data
// leads there.
// Source: CAPA, controllers/awsmachine_controller.go; Ignition, docs/configuration-v3_4.md.
func (v *view) ignite(ctx context.Context, spec *api.AWSMachineSpec, r providers.MachineRequest, op fleet.OperationID, store cloud.Store) (bootstrap, error) {
	b := v.spec.S3Bucket
	folder := nodeFolder
	if r.Pool.Role == fleet.RoleControlPlane {
		folder = controlPlaneFolder
	}
	key := v.pathOfUserData() + strings.Join([]string{folder, string(r.Name), v.suffixOf(r, op)}, "/")
	source := string(store) + "/" + key
	if valid := b.PresignedFor(); valid > 0 {
		var err error
		if source, err = v.place.Presigned(ctx, b.Name, key, valid); err != nil {
			return bootstrap{}, err
		}
	}
	content := r.UserData.Content.Reveal()
	data, err := pointer(content, source, spec.Ignition)
	return bootstrap{userData: base64.StdEncoding.EncodeToString(data), stored: content, store: store, secret: key}, err
}

// pointer returns a configuration of Ignition that leads to content, which is at a URL.
func pointer(content []byte, source string, o *api.Ignition) ([]byte, error) {
	var is struct {
		Ignition struct {
			Version string `json:"version"`
		} `json:"ignition"`
	}
	if err := json.Unmarshal(content, &is); err != nil || is.Ignition.Version == "" {
		return nil, fleet.Errorf(fleet.Invalid, "read the Ignition configuration", "it has no ignition.version")
	}
	version := is.Ignition.Version
	type object = map[string]any
	from := "merge"
	if strings.HasPrefix(version, "2.") {
		from = "append"
	}
	ignition := object{"version": version, "config": object{from: []object{{"source": source}}}}
	if (o.Proxy != nil || o.TLS != nil) && (strings.HasPrefix(version, "2.") || strings.HasPrefix(version, "3.0")) {
		return nil, fleet.Errorf(fleet.Invalid, "write the Ignition configuration", "it has version %s, and ignition.proxy and ignition.tls need 3.1 or newer (leave them out)", version)
	}
	if o.Proxy != nil {
		ignition["proxy"] = o.Proxy
	}
	if t := o.TLS; t != nil {
		var all []object
		for _, ca := range t.CertificateAuthorities {
			all = append(all, object{"source": ca})
		}
		ignition["security"] = object{"tls": object{"certificateAuthorities": all}}
	}
	return json.Marshal(object{"ignition": ignition})
}
