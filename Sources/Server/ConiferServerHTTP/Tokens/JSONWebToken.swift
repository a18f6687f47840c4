import ConiferTree

/// A parsed, not yet verified JSON Web Token in compact form (RFC 7515, section 3.1).
struct JSONWebToken {
  /// The header's `alg`.
  let algorithm: String
  /// The claims: an object.
  let claims: Node
  /// The names of all claims, also of those that are null or empty and so not in the node.
  let names: Set<String>
  /// The bytes that the signature covers.
  let signed: [UInt8]
  let signature: [UInt8]

  /// Parses a token.
  ///
  /// - Returns: nil when the text is not a token, or longer than 16 KiB.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= 16 * 1024 else { return nil }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let names = Self.names(parts[1]), let signature = Self.decoded(parts[2]),
      case .string(let algorithm)? = header["alg" as Key].leaf
    else { return nil }
    self.algorithm = algorithm
    self.claims = claims
    self.names = names
    self.signature = signature
    signed = Array(bytes[..<parts[1].endIndex])
  }

  private static func object(_ part: ArraySlice<UInt8>) -> Node? {
    guard let bytes = decoded(part) else { return nil }
    var limits = JSONReader.Limits()
    limits.depth = 16
    guard let node = try? Node(json: bytes, limits: limits), !node.isLeaf else { return nil }
    return node
  }

  private static func names(_ part: ArraySlice<UInt8>) -> Set<String>? {
    guard let bytes = decoded(part) else { return nil }
    var reader = JSONReader(bytes: bytes)
    var names: Set<String> = []
    do throws(JSONError) {
      while let event = try reader.next() {
        if case .key(let name) = event, reader.depth == 1 { names.insert(name) }
      }
      return names
    } catch {
      return nil
    }
  }

  /// Decodes base64url (RFC 4648, section 5), with or without padding.
  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    var rest = text
    while rest.last == UInt8(ascii: "=") { rest.removeLast() }
    guard rest.count % 4 != 1 else { return nil }
    for byte in rest {
      let value: UInt8
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = byte - UInt8(ascii: "0") + 52
      case UInt8(ascii: "-"), UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "_"), UInt8(ascii: "/"): value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}
