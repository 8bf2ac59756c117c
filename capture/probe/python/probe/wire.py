def send(sink, protocol, tool, args, call):
    raise NotImplementedError
