#if Network
  import NIOHTTP1

  /// The body length in a request's headers (RFC 9112, section 6.3).
  enum ContentLength: Equatable {
    case none
    case bytes(Int)
    /// A number that is too large for any body.
    case tooLarge
    /// Not a number, or several different ones.
    case malformed

    init(_ headers: HTTPHeaders) {
      // A list of equal lengths counts as one length.
      let fields = Set(headers[canonicalForm: "content-length"])
      guard let field = fields.first else {
        self = .none
        return
      }
      guard fields.count == 1, !field.isEmpty,
        field.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 })
      else {
        self = .malformed
        return
      }
      self = Int(field).map { .bytes($0) } ?? .tooLarge
    }
  }
#endif
