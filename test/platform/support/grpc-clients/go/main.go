// A client of grpc-go that a test drives: it reads a command in JSON from each line of its input, and writes a reply in
// JSON for each message and for each end of a call.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

type command struct {
	Id       int    `json:"id"`
	Do       string `json:"do"`
	Path     string `json:"path"`
	Message  []byte `json:"message"`
	WithinMs int    `json:"withinMs"`
	Gzip     bool   `json:"gzip"`
}

type reply struct {
	Id      int     `json:"id"`
	Message *[]byte `json:"message,omitempty"`
	Code    *uint32 `json:"code,omitempty"`
	Details string  `json:"details,omitempty"`
}

// asIs passes the bytes of messages, so that no definitions are needed.
type asIs struct{}

func (asIs) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (asIs) Unmarshal(bytes []byte, into any) error {
	*into.(*[]byte) = append([]byte{}, bytes...)
	return nil
}
func (asIs) Name() string { return "proto" }

var oneWay = grpc.StreamDesc{ServerStreams: true}

type client struct {
	connection *grpc.ClientConn
	output     *json.Encoder
	mutex      sync.Mutex
	cancels    map[int]context.CancelFunc
}

func main() {
	transport := insecure.NewCredentials()
	if len(os.Args) > 2 {
		var err error
		if transport, err = credentials.NewClientTLSFromFile(os.Args[2], "localhost"); err != nil {
			log.Fatal(err)
		}
	}
	connection, err := grpc.NewClient(
		"passthrough:///"+os.Args[1],
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asIs{})),
	)
	if err != nil {
		log.Fatal(err)
	}
	c := &client{connection: connection, output: json.NewEncoder(os.Stdout), cancels: map[int]context.CancelFunc{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var it command
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			log.Fatal(err)
		}
		if it.Do == "cancel" {
			c.cancel(it.Id)
		} else {
			go c.carryOut(it, c.begin(it))
		}
	}
}

func (c *client) begin(it command) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	if it.WithinMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(it.WithinMs)*time.Millisecond)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.cancels[it.Id] = cancel
	return ctx
}

func (c *client) cancel(id int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if cancel, isOpen := c.cancels[id]; isOpen {
		cancel()
		delete(c.cancels, id)
	}
}

func (c *client) carryOut(it command, ctx context.Context) {
	var options []grpc.CallOption
	if it.Gzip {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	var err error
	if it.Do == "stream" {
		err = c.stream(ctx, it, options)
	} else {
		var message []byte
		if err = c.connection.Invoke(ctx, it.Path, &it.Message, &message, options...); err == nil {
			c.say(reply{Id: it.Id, Message: &message})
		}
	}
	c.cancel(it.Id)
	code := uint32(status.Code(err))
	c.say(reply{Id: it.Id, Code: &code, Details: status.Convert(err).Message()})
}

// stream ends with an error, which is io.EOF after the status OK.
func (c *client) stream(ctx context.Context, it command, options []grpc.CallOption) error {
	stream, err := c.connection.NewStream(ctx, &oneWay, it.Path, options...)
	if err == nil {
		err = stream.SendMsg(&it.Message)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		var message []byte
		if err = stream.RecvMsg(&message); err == nil {
			c.say(reply{Id: it.Id, Message: &message})
		}
	}
	return err
}

func (c *client) say(it reply) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.output.Encode(it); err != nil {
		log.Fatal(err)
	}
}
