package import ConiferTree

extension Server {
  /// The names of the databases that are served, in the order of their UTF-8.
  package var namespaces: [String] { hostNames }

  /// Tells who is connected to a database and what passed through it; walks no data.
  ///
  /// - Parameters:
  ///   - namespace: the database's name; one that is not served has nothing to tell, and is not made.
  ///   - limits: how much to tell.
  package func inspect(
    _ namespace: String, _ limits: InspectionLimits = InspectionLimits()
  ) -> NamespaceReport {
    if let host = hostIfServed(namespace) { return host.report(namespace, limits) }
    return Namespace().report(namespace, limits, now: clock.now)
  }

  /// The data of a database and how often it changed so far, without making the database.
  package func moment(of namespace: String) -> (root: Node, changes: Int) {
    hostIfServed(namespace)?.moment ?? (.empty, 0)
  }
}
