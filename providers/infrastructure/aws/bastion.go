package aws

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// bastionPart is the part of a cluster that the bastion is.
const bastionPart = "bastion"

// ssh is the port that a bastion is reached at, and the others by way of it.
const ssh = 22

// The image of a bastion, of Canonical, and its type.
// Source: https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/
const (
	bastionImageOwner = "099720109477"
	bastionImage      = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-"
	bastionType       = "t3.micro"
)

func (v *view) wantsBastion() bool { return v.spec.Bastion != nil && v.spec.Bastion.Enabled }

// decideBastion decides about the instance by way of which people reach the others. One that is there stays as it was made.
func (v *view) decideBastion(d *steps.Decision, n network, groups map[string]string) {
	living := slices.DeleteFunc(slices.Clone(v.bastions), func(i cloud.Instance) bool { return i.State == "shutting-down" })
	if !v.wantsBastion() {
		v.endBastions(d, living, "which Git does not have any more")
		return
	}
	if len(living) > 0 {
		v.endBastions(d, living[1:], "of which there is another one")
		return
	}
	for _, i := range v.ended {
		if why := i.ReasonCode; i.Tags[partTag] == bastionPart && time.Since(i.Launched) < fullFor && (strings.HasPrefix(why, "Server.") || strings.HasPrefix(why, "Client.") && why != "Client.UserInitiatedShutdown") {
			v.faultBefore(d, fleet.Errorf(fleet.Exhausted, "create the bastion", "AWS ended it: %s (it is tried again in a while)", i.Reason))
			return
		}
	}
	switch { // asked for twice, it is made once
	case len(n.public) == 0 && v.isGiven():
		v.faultBefore(d, fleet.Errorf(fleet.Invalid, "create the bastion", "the VPC has no public subnet (set bastion.enabled: false)"))
	case len(n.public) > 0 && groups[api.BastionRole] != "":
		d.Add(steps.Step{What: "create the bastion", Do: func(ctx context.Context) error { return v.runBastion(ctx, n.public, groups[api.BastionRole]) }})
	}
}

func (v *view) endBastions(d *steps.Decision, some []cloud.Instance, why string) {
	for _, i := range some {
		d.Add(steps.Step{What: "terminate bastion " + i.ID + ", " + why, Do: func(ctx context.Context) error {
			_, same, err := v.again(ctx, i)
			if err == nil && same {
				err = v.place.Terminate(ctx, i.ID)
			}
			if at := slices.IndexFunc(v.bastions, func(o cloud.Instance) bool { return o.ID == i.ID }); err == nil && at >= 0 {
				v.bastions[at].State = "shutting-down"
			}
			return err
		}})
	}
}

// runBastion asks for the bastion in the first subnet that has room.
func (v *view) runBastion(ctx context.Context, subnets []cloud.Subnet, group string) error {
	b := v.spec.Bastion
	kind := cmp.Or(b.InstanceType, bastionType)
	image := b.AMI
	if image == "" {
		arch := map[string]string{"x86_64": "amd64", "arm64": "arm64"}[architecture(kind)]
		var err error
		if image, err = v.newestImage(ctx, bastionImageOwner, bastionImage+arch+"-server-*", architecture(kind), "name one in bastion.ami"); err != nil {
			return err
		}
	}
	form := cloud.Join(cloud.Tagged(v.shared(bastionPart, bastionPart, nil), "instance", "volume", "network-interface"), url.Values{
		"ImageId": {image}, "InstanceType": {kind}, "MetadataOptions.HttpTokens": {"required"},
		"NetworkInterface.1.DeviceIndex": {"0"}, "NetworkInterface.1.AssociatePublicIpAddress": {"true"}, "NetworkInterface.1.SecurityGroupId.1": {group},
	})
	if key := v.keyName(&api.AWSMachineSpec{}); key != "" {
		form.Set("KeyName", key)
	}
	var former []string
	for _, i := range slices.Concat(v.ended, v.bastions) {
		if i.Tags[partTag] == bastionPart {
			former = append(former, i.ID)
		}
	}
	slices.Sort(former)
	op := fleet.OperationID("bastion " + digest(string(v.owner.Fleet), v.owner.Cluster.String()))
	var err error
	for _, s := range subnets {
		var made cloud.Instance
		made, err = v.runIn(ctx, cloud.Join(form, url.Values{"NetworkInterface.1.SubnetId": {s.ID}}), op, fleet.Origin{}, s.ID, former)
		if err == nil {
			v.bastions = append(v.bastions, made)
		}
		if !cloud.IsOfZone(err) {
			break
		}
	}
	return cloud.Named(err)
}
