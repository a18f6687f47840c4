import ConiferTree

/// The body of a request that writes.
enum RESTBody {
  /// Deeper text is refused while it is read: a tree has 32 levels, and a leaf with a priority or a
  /// server value a few more.
  private static let limits = JSONReader.Limits(
    depth: 64, stringBytes: Leaf.longest, numberBytes: 4096)

  /// The data of a `PUT` or `POST`.
  static func node(_ bytes: [UInt8]) throws(RESTRefusal) -> Node {
    do throws(JSONError) {
      return try Node(json: bytes, limits: limits)
    } catch {
      throw RESTRefusal(400, "\(RESTRefusal.invalidData) \(place(error))")
    }
  }

  /// A change of an update, with its name as it was sent.
  typealias Change = (name: String, change: NodeChange)

  /// The changes of a `PATCH`, with paths relative to its place.
  static func changes(_ bytes: [UInt8]) throws(RESTRefusal) -> [Change] {
    do throws(JSONError) {
      return try read(bytes)
    } catch {
      throw RESTRefusal(
        400,
        "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key "
          + "names? \(place(error))")
    }
  }

  private static func read(_ bytes: [UInt8]) throws(JSONError) -> [Change] {
    var reader = JSONReader(bytes: bytes, limits: limits)
    guard case .beginObject? = try reader.next() else {
      throw invalid(reader, "An update is an object of paths and their new values.")
    }
    var changes: [Change] = []
    while let event = try reader.next() {
      guard case .key(let name) = event else { continue }
      let path: Path
      do throws(TreeError) {
        path = Path(name)
        guard !path.isRoot else {
          throw TreeError(.invalidKey, "\"\(name)\" names no child. Name one.")
        }
        try path.validate(writing: .empty)
      } catch {
        throw invalid(reader, error.message)
      }
      var builder = NodeBuilder()
      while !builder.isComplete, try builder.advance(&reader) {}
      changes.append((name, NodeChange(path, builder.node ?? .empty)))
    }
    return changes
  }

  private static func invalid(_ reader: JSONReader, _ message: String) -> JSONError {
    JSONError(code: .invalidTree, line: reader.line, column: reader.column, message: message)
  }

  private static func place(_ error: JSONError) -> String {
    let message = error.message.prefix(1).uppercased() + error.message.dropFirst()
    return "Line \(error.line), column \(error.column): \(message)"
  }
}
