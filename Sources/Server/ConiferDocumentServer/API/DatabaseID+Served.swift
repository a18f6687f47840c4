package import ConiferDocument
package import ConiferWire

extension DatabaseID {
  /// A database that clients over a network may name.
  ///
  /// - Throws: `invalidArgument` when one of the names is none.
  package init(project: String, served database: String) throws(StatusError) {
    guard Self.isName(project), Self.isName(database) else {
      throw StatusError(
        .invalidArgument,
        "The name of a project or a database is 1 to 100 of a-z, A-Z, 0-9, -, _, ., :, ( and ).")
    }
    self.init(project: project, database: database)
  }

  private static func isName(_ name: String) -> Bool {
    // Clients and proxies resolve these two in paths.
    name != "." && name != ".." && (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_.:()".utf8.contains(byte)
        }
      }
  }
}
