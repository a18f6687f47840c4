import ConiferQuery
import ConiferTree

extension ServerMessage {
  /// The text of the message, in UTF-8, as a server sends it.
  ///
  /// Warnings are written only in a listen's answer, whose data is otherwise `{}`; a get's answer has
  /// data there. A message that is `unknown` has no body. A number keeps its form, `0` or `0.0`:
  /// clients that compare numbers by type would see the other form as a change.
  ///
  /// - Parameter nothing: the placeholder for missing data in an answer.
  package func encoded(nothing: EmptyAnswer = .object) -> [UInt8] {
    switch self {
    case .hello(let hello):
      return WireWriter.message("c") { writer in
        writer.string("t", "h")
        writer.object("d") { writer in
          writer.integer("ts", hello.timestamp)
          writer.string("v", "5")
          writer.string("h", hello.host)
          writer.string("s", hello.session)
        }
      }
    case .reset(let host): return Self.control("r", host)
    case .shutdown(let reason): return Self.control("s", reason)
    case .error(let words): return Self.control("e", words)
    case .pong:
      return WireWriter.message("c") { writer in
        writer.string("t", "o")
        writer.empty("d")
      }
    case .response(let number, let response):
      return WireWriter.message("d", marksDoubles: true) { writer in
        writer.number(number)
        writer.object("b") { response.write(to: &$0, nothing) }
      }
    case .push(let push):
      return WireWriter.message("d", marksDoubles: true) { writer in
        writer.string("a", push.action)
        writer.object("b") { push.write(to: &$0) }
      }
    case .unknown(let action):
      return WireWriter.message("d") { writer in
        writer.string("a", action)
        writer.empty("b")
      }
    }
  }

  private static func control(_ kind: String, _ words: String) -> [UInt8] {
    WireWriter.message("c") { writer in
      writer.string("t", kind)
      writer.string("d", words)
    }
  }
}

extension Response {
  fileprivate func write(to writer: inout WireWriter, _ nothing: EmptyAnswer) {
    writer.string("s", status.rawValue)
    if status != .ok { return writer.string("d", reason ?? "") }
    if !node.isEmpty { return writer.node("d", node) }
    switch nothing {
    case .object:
      writer.object("d") { writer in
        if !warnings.isEmpty { writer.strings("w", warnings) }
      }
    case .text: writer.string("d", "")
    case .null: writer.node("d", .empty)
    }
  }
}

extension Push {
  /// The protocol's action for the push.
  fileprivate var action: String {
    switch self {
    case .overwrite: "d"
    case .merge: "m"
    case .rangeMerge: "rm"
    case .listenRevoked: "c"
    case .authRevoked: "ac"
    case .appCheckRevoked: "apc"
    case .debug: "sd"
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    switch self {
    case .overwrite(let path, let node, let tag):
      writer.serverPath("p", path)
      writer.node("d", node)
      writer.tag(tag)
    case .merge(let path, let changes, let tag):
      writer.serverPath("p", path)
      writer.changes(changes)
      writer.tag(tag)
    case .rangeMerge(let path, let ranges, let tag):
      writer.serverPath("p", path)
      writer.ranges(ranges)
      writer.tag(tag)
    case .listenRevoked(let path, let spec):
      writer.serverPath("p", path)
      // Clients take a push without a query for the default one's, and other queries from a list.
      if !spec.isDefault { writer.queries(spec) }
    case .authRevoked(let status, let reason), .appCheckRevoked(let status, let reason):
      writer.string("s", status.rawValue)
      writer.string("d", reason)
    case .debug(let words): writer.string("msg", words)
    }
  }
}
