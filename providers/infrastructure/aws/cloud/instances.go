package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/fleet"
)

// An Instance is one of EC2.
type Instance struct {
	ID, State, ReasonCode, Reason, Type, Zone, Subnet, VPC, Address, PublicAddress, Lifecycle string

	Six []string // addresses of IPv6

	Token   string // that it was asked for with; empty: it is not known
	Profile string // the ARN of its instance profile; empty: it has none

	Launched time.Time
	Tags     Tags
}

// Ended reports whether nothing but a listing is left of the instance.
func (i *Instance) Ended() bool { return i.State == "terminated" }

// Ending reports whether it ended, or is about to.
func (i *Instance) Ending() bool { return i.Ended() || i.State == "shutting-down" }

// InstancesOf returns those of instances that there are, by their ids.
func (c *Client) InstancesOf(ctx context.Context, ids []string) ([]Instance, error) {
	const most = 200 // values of a filter
	var out []Instance
	for some := range slices.Chunk(ids, most) {
		form := url.Values{"Filter.1.Name": {"instance-id"}}
		for i, id := range some {
			form.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), id)
		}
		got, err := c.instances(ctx, form)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

// Instances returns the instances that pass filters.
func (c *Client) Instances(ctx context.Context, filters ...string) ([]Instance, error) {
	return c.instances(ctx, filter(filters...))
}

func (c *Client) instances(ctx context.Context, form url.Values) ([]Instance, error) {
	form.Set("MaxResults", strconv.Itoa(page))
	var out []Instance
	for {
		var data []byte
		if err := c.query(ctx, ec2, "DescribeInstances", form, &data); err != nil {
			return nil, err
		}
		some, next, whole := readInstances(data)
		if !whole {
			return nil, &Error{Service: ec2.name, Action: "DescribeInstances", Status: http.StatusOK, Message: "its answer broke off"}
		}
		out = append(out, some...)
		if next == "" {
			return out, nil
		}
		form.Set("NextToken", next)
	}
}

// Run asks for an instance, with the parameters of RunInstances.
func (c *Client) Run(ctx context.Context, form url.Values) (Instance, error) {
	var data []byte
	form.Set("MinCount", "1")
	form.Set("MaxCount", "1")
	if err := c.query(ctx, ec2, "RunInstances", form, &data); err != nil {
		return Instance{}, err
	}
	all, _, whole := readInstances(data)
	if !whole || len(all) != 1 {
		return Instance{}, &Error{Service: ec2.name, Action: "RunInstances", Err: fmt.Errorf("its answer has %d instances", len(all))}
	}
	return all[0], nil
}

// MayRun reports whether an instance with these parameters might be made, by a dry run.
func (c *Client) MayRun(ctx context.Context, form url.Values) error {
	form = maps.Clone(form)
	form.Set("DryRun", "true")
	form.Del("ClientToken")
	_, err := c.Run(ctx, form)
	if Is(err, "DryRunOperation") {
		return nil
	}
	return err
}

// Terminate asks an instance to end. One that is not there is no error.
func (c *Client) Terminate(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "TerminateInstances", url.Values{"InstanceId.1": {id}}, nil))
}

// An Image is an AMI.
type Image struct {
	ID      string    `xml:"imageId"`
	Name    string    `xml:"name"`
	Root    string    `xml:"rootDeviceName"`
	Created time.Time `xml:"creationDate"`
}

// Images returns the images that pass filters.
func (c *Client) Images(ctx context.Context, filters ...string) ([]Image, error) {
	var got struct {
		All []Image `xml:"imagesSet>item"`
	}
	err := c.query(ctx, ec2, "DescribeImages", filter(filters...), &got)
	return got.All, err
}

// Image returns the image with an id. An error says that it is not there, too.
func (c *Client) Image(ctx context.Context, id string) (Image, error) {
	var got struct {
		All []Image `xml:"imagesSet>item"`
	}
	if err := c.query(ctx, ec2, "DescribeImages", url.Values{"ImageId.1": {id}}, &got); err != nil {
		return Image{}, err
	}
	if len(got.All) != 1 {
		return Image{}, &Error{Service: ec2.name, Action: "DescribeImages", Status: http.StatusBadRequest, Code: "InvalidAMIID.NotFound", Message: "The image id '[" + id + "]' does not exist"}
	}
	return got.All[0], nil
}

// Zones returns the availability zones of the region, sorted.
func (c *Client) Zones(ctx context.Context) ([]string, error) {
	var got struct {
		All []struct {
			Name string `xml:"zoneName"`
			Type string `xml:"zoneType"`
		} `xml:"availabilityZoneInfo>item"`
	}
	if err := c.query(ctx, ec2, "DescribeAvailabilityZones", nil, &got); err != nil {
		return nil, err
	}
	var out []string
	for _, z := range got.All {
		if z.Type == "availability-zone" || z.Type == "" {
			out = append(out, z.Name)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fleet.Errorf(fleet.Unavailable, "list availability zones", "the region has none that is available")
	}
	return out, nil
}

// Offered returns the zones that have a type of instances.
func (c *Client) Offered(ctx context.Context, kind string) ([]string, error) {
	var got struct {
		All []struct {
			Zone string `xml:"location"`
		} `xml:"instanceTypeOfferingSet>item"`
	}
	form := filter("instance-type", kind)
	form.Set("LocationType", "availability-zone")
	if err := c.query(ctx, ec2, "DescribeInstanceTypeOfferings", form, &got); err != nil {
		return nil, err
	}
	var out []string
	for _, z := range got.All {
		out = append(out, z.Zone)
	}
	slices.Sort(out)
	return out, nil
}

// KeyPair returns an error if there is no key pair of that name.
func (c *Client) KeyPair(ctx context.Context, name string) error {
	return c.query(ctx, ec2, "DescribeKeyPairs", url.Values{"KeyName.1": {name}}, nil)
}
