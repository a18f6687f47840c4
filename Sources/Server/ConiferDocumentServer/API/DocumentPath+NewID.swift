package import ConiferDocument

extension DocumentPath {
  /// An id that nobody has, as clients make them.
  package static func newID() -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let id = (0..<20).map { _ in letters[Int.random(in: letters.indices)] }
    return String(decoding: id, as: UTF8.self)
  }
}
