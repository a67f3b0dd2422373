package sdk_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// templateRequests are those about launch templates.
func templateRequests(x *ec2.Client, place *cloud.Place) map[string]pair {
	const at = "LaunchTemplateData."
	data := url.Values{
		at + "ImageId": {"ami-1"}, at + "InstanceType": {"m6i.large"}, at + "KeyName": {"ops"}, at + "UserData": {"YQ=="}, at + "SecurityGroupId.1": {"sg-1"},
		at + "BlockDeviceMapping.1.DeviceName": {"/dev/xvda"}, at + "BlockDeviceMapping.1.Ebs.DeleteOnTermination": {"true"}, at + "BlockDeviceMapping.1.Ebs.Encrypted": {"true"}, at + "BlockDeviceMapping.1.Ebs.KmsKeyId": {"k"},
		at + "BlockDeviceMapping.1.Ebs.Iops": {"3000"}, at + "BlockDeviceMapping.1.Ebs.Throughput": {"125"}, at + "BlockDeviceMapping.1.Ebs.VolumeSize": {"30"}, at + "BlockDeviceMapping.1.Ebs.VolumeType": {"gp3"},
		at + "MetadataOptions.HttpEndpoint": {"enabled"}, at + "MetadataOptions.HttpProtocolIpv6": {"disabled"}, at + "MetadataOptions.HttpPutResponseHopLimit": {"2"}, at + "MetadataOptions.HttpTokens": {"required"}, at + "MetadataOptions.InstanceMetadataTags": {"disabled"},
		at + "CapacityReservationSpecification.CapacityReservationPreference": {"open"}, at + "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId": {"cr-1"},
		at + "PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord": {"false"}, at + "PrivateDnsNameOptions.EnableResourceNameDnsARecord": {"true"}, at + "PrivateDnsNameOptions.HostnameType": {"resource-name"},
		at + "TagSpecification.1.ResourceType": {"instance"}, at + "TagSpecification.1.Tag.1.Key": {"a"}, at + "TagSpecification.1.Tag.1.Value": {"1"},
	}
	theirs := &ec2types.RequestLaunchTemplateData{
		ImageId: aws.String("ami-1"), InstanceType: "m6i.large", KeyName: aws.String("ops"), UserData: aws.String("YQ=="), SecurityGroupIds: []string{"sg-1"},
		BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: aws.String("/dev/xvda"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{
			DeleteOnTermination: aws.Bool(true), Encrypted: aws.Bool(true), KmsKeyId: aws.String("k"), Iops: aws.Int32(3000), Throughput: aws.Int32(125), VolumeSize: aws.Int32(30), VolumeType: "gp3",
		}}},
		MetadataOptions:                  &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpEndpoint: "enabled", HttpProtocolIpv6: "disabled", HttpPutResponseHopLimit: aws.Int32(2), HttpTokens: "required", InstanceMetadataTags: "disabled"},
		CapacityReservationSpecification: &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: "open", CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}},
		PrivateDnsNameOptions:            &ec2types.LaunchTemplatePrivateDnsNameOptionsRequest{EnableResourceNameDnsAAAARecord: aws.Bool(false), EnableResourceNameDnsARecord: aws.Bool(true), HostnameType: "resource-name"},
		TagSpecifications:                []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: "instance", Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}},
	}
	id := aws.String("lt-1")
	return map[string]pair{
		"CreateLaunchTemplate": {
			func(ctx context.Context) error {
				return errOf(x.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("name"), VersionDescription: aws.String("mark"), LaunchTemplateData: theirs, TagSpecifications: tags("launch-template", "a", "1")}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateTemplate(ctx, "name", "mark", data, cloud.Tags{"a": "1"}))
			},
		},
		"CreateLaunchTemplateVersion": {
			func(ctx context.Context) error {
				return errOf(x.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, VersionDescription: aws.String("mark"), ClientToken: aws.String("token"), LaunchTemplateData: theirs}))
			},
			func(ctx context.Context) error {
				return errOf(place.CreateTemplateVersion(ctx, *id, "mark", "token", data))
			},
		},
		"DescribeLaunchTemplates": {
			func(ctx context.Context) error {
				return errOf(x.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{MaxResults: aws.Int32(200), Filters: []ec2types.Filter{{Name: aws.String("tag:a"), Values: []string{"1"}}}}))
			},
			func(ctx context.Context) error { return errOf(place.LaunchTemplates(ctx, "tag:a", "1")) },
		},
		"DescribeLaunchTemplateVersions": {
			func(ctx context.Context) error {
				return errOf(x.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{MaxResults: aws.Int32(200), LaunchTemplateId: id}))
			},
			func(ctx context.Context) error { return errOf(place.TemplateVersions(ctx, *id)) },
		},
		"DeleteLaunchTemplateVersions": {
			func(ctx context.Context) error {
				return errOf(x.DeleteLaunchTemplateVersions(ctx, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: id, Versions: []string{"2", "3"}}))
			},
			func(ctx context.Context) error { return place.DeleteTemplateVersions(ctx, *id, []int64{2, 3}) },
		},
		"DeleteLaunchTemplate": {
			func(ctx context.Context) error {
				return errOf(x.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: id}))
			},
			func(ctx context.Context) error { return place.DeleteTemplate(ctx, *id) },
		},
	}
}

// TestAnswersOfTemplates: the SDK reads what the double answers, and the provider reads the same.
func TestAnswersOfTemplates(t *testing.T) {
	c := awstest.New(awstest.Options{Page: 1})
	x, ctx := ec2.NewFromConfig(config(c)), t.Context()
	place := placeOf(t, c.Client(), c.Region(), api.IdentityReference{Kind: api.ControllerIdentity, Name: api.DefaultIdentity})
	data := &ec2types.RequestLaunchTemplateData{InstanceType: "m6i.large"}
	made := must[*ec2.CreateLaunchTemplateOutput](t)(x.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("name"), VersionDescription: aws.String("one"), LaunchTemplateData: data, TagSpecifications: tags("launch-template", "a", "1")})).LaunchTemplate
	if _, err := x.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("name"), LaunchTemplateData: data}); code(err) != "InvalidLaunchTemplateName.AlreadyExistsException" {
		t.Errorf("a name twice: %v", err)
	}
	id := made.LaunchTemplateId
	version := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, VersionDescription: aws.String("two"), ClientToken: aws.String("token"), LaunchTemplateData: data}
	for range 2 { // the second time by its token
		if v := must[*ec2.CreateLaunchTemplateVersionOutput](t)(x.CreateLaunchTemplateVersion(ctx, version)).LaunchTemplateVersion; *v.VersionNumber != 2 || *v.VersionDescription != "two" {
			t.Errorf("the version is %+v", v)
		}
	}
	theirs := must[*ec2.DescribeLaunchTemplatesOutput](t)(x.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})).LaunchTemplates
	ours := must[[]cloud.LaunchTemplate](t)(place.LaunchTemplates(ctx, "tag:a", "1"))
	if len(theirs) != 1 || len(ours) != 1 || *theirs[0].Tags[0].Value != "1" || ours[0].Tags["a"] != "1" || *theirs[0].LatestVersionNumber != ours[0].Latest || ours[0].Latest != 2 ||
		*theirs[0].DefaultVersionNumber != ours[0].Default || *theirs[0].LaunchTemplateName != ours[0].Name || ours[0].ID != *id {
		t.Errorf("the SDK reads %+v, and the provider %+v", theirs, ours)
	}
	all := must[*ec2.DescribeLaunchTemplateVersionsOutput](t)(x.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: id})).LaunchTemplateVersions
	read := must[[]cloud.TemplateVersion](t)(place.TemplateVersions(ctx, *id))
	if len(all) != 2 || len(read) != 2 || *all[1].VersionDescription != read[1].Description || *all[1].VersionNumber != read[1].Number || read[0].Description != "one" {
		t.Errorf("the SDK reads %+v, and the provider %+v", all, read)
	}
	failed := must[*ec2.DeleteLaunchTemplateVersionsOutput](t)(x.DeleteLaunchTemplateVersions(ctx, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: id, Versions: []string{"1", "2", "3"}})).UnsuccessfullyDeletedLaunchTemplateVersions
	if len(failed) != 2 || failed[0].ResponseError.Code != "unexpectedError" || failed[1].ResponseError.Code != ec2types.LaunchTemplateErrorCodeLaunchTemplateVersionDoesNotExist {
		t.Errorf("not deleted: %+v", failed)
	}
	if err := place.DeleteTemplateVersions(ctx, *id, []int64{2, 3}); err != nil {
		t.Errorf("versions that are gone: %v", err)
	}
	if err := place.DeleteTemplateVersions(ctx, *id, []int64{1}); !cloud.Is(err, "unexpectedError") {
		t.Errorf("the default version: %v", err)
	}
	for range 2 {
		if err := place.DeleteTemplate(ctx, *id); err != nil {
			t.Error(err)
		}
	}
}
