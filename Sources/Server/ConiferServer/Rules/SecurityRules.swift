public import ConiferQuery
public import ConiferStorage
public import ConiferTree

/// The security rules of the Realtime Database: a JSON file whose strings are conditions.
///
/// What the language is here is in `Docs/Rules.md`. A request that no rule grants is refused; so is
/// one whose rules cannot be evaluated, or take more steps than the limits allow.
public struct SecurityRules: AccessRules {
  /// The file, as it was given.
  public let source: [UInt8]
  /// The indexes that its `.indexOn` entries declare, each once.
  public let indexes: [IndexDefinition]
  /// How much work the rules may do.
  public var limits: RulesLimits
  let root: RulesNode

  /// Reads a rules file and checks it.
  ///
  /// - Parameters:
  ///   - bytes: the file in UTF-8: JSON, which may have comments, strings over several lines and
  ///     commas before closing braces.
  ///   - limits: how much work the rules may do.
  /// - Throws: what is wrong with the file, at the first place where something is.
  public init(json bytes: [UInt8], limits: RulesLimits = RulesLimits()) throws(RulesError) {
    var reader = try RulesReader(bytes)
    root = try reader.read()
    indexes = reader.indexes
    source = bytes
    self.limits = limits
  }

  /// Reads a rules file and checks it, as the other initialiser.
  public init(json text: String, limits: RulesLimits = RulesLimits()) throws(RulesError) {
    try self.init(json: Array(text.utf8), limits: limits)
  }

  /// The file as JSON that every reader takes, without comments.
  package var strictSource: [UInt8] { RulesScanner.strict(source) }

  /// Whether the children of a path are sorted by an index: by the `.indexOn` of its place, which for a
  /// key with a place of its own is not the wildcard's.
  public func declaresIndex(_ index: QueryIndex, at path: Path) -> Bool? {
    var place: RulesNode? = root
    for key in path.keys { place = place?.child(key) }
    return place?.indexes.contains(index) ?? false
  }

  /// Whether a target may be read.
  public func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool {
    decideRead(target, context).isAllowed
  }

  /// Whether a node may be replaced.
  public func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
    decideWrite(path, after: after, context).isAllowed
  }

  /// Whether a `.read` at the target's path or above it is true, and which.
  ///
  /// - Parameters:
  ///   - target: what is read; its query is `query` of the rules.
  ///   - context: who reads, and the data.
  public func decideRead(_ target: QueryTarget, _ context: AccessContext) -> AccessDecision {
    var inquiry = RuleInquiry(RuleRequest(context, query: target.spec), limits)
    return inquiry.grant(.read, along: sites(of: target.path, in: inquiry.request))
  }

  /// Whether for each path a `.write` there or above is true, and all `.validate` that a write there
  /// asks: those of the path and of the places above that have data after the write, and unless it
  /// deletes, those of what it writes below.
  ///
  /// - Parameters:
  ///   - paths: the nodes that one write replaces; a last segment `.priority` stands for a priority
  ///     alone.
  ///   - after: the whole data as the write would leave it, server values resolved.
  ///   - context: who writes, and the data before.
  /// - Returns: the first refusal, or what granted the last path.
  public func decideWrite(
    _ paths: [Path], after: Node, _ context: AccessContext
  ) -> AccessDecision {
    var inquiry = RuleInquiry(RuleRequest(context, after: after), limits)
    var decision = AccessDecision(true)
    for path in paths where decision.isAllowed { decision = decide(path, &inquiry) }
    return decision
  }

  private func decide(_ path: Path, _ inquiry: inout RuleInquiry) -> AccessDecision {
    let sites = sites(of: path, in: inquiry.request)
    let grant = inquiry.grant(.write, along: sites)
    if !grant.isAllowed { return grant }
    if let refusal = inquiry.invalid(along: sites) { return refusal }
    // A priority that is set alone leaves what is below as it is.
    if path.last?.isPriority != true, sites.count == path.count + 1, let last = sites.last,
      let refusal = inquiry.invalid(below: last.site, last.rules)
    {
      return refusal
    }
    return grant
  }

  /// The places from the root to a path, as far as there are rules.
  private func sites(
    of path: Path, in request: RuleRequest
  ) -> [(site: RuleSite, rules: RulesNode)] {
    var site = RuleSite(keys: [], before: request.before, after: request.after ?? .empty)
    var rules = root
    var sites = [(site, rules)]
    for key in path.keys where !key.isPriority {
      guard let next = rules.child(key) else { break }
      rules = next
      site = site.child(key)
      sites.append((site, rules))
    }
    return sites
  }
}
