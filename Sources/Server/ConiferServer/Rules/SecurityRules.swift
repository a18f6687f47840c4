public import ConiferQuery
public import ConiferStorage
public import ConiferTree

/// Security rules in the Realtime Database's language: a JSON file whose strings are conditions.
///
/// `Docs/Rules.md` describes the language. A request is refused when no rule grants it, when its
/// rules cannot be evaluated, and when they take more steps than the limits allow.
public struct SecurityRules: AccessRules {
  /// The original text of the file.
  public let source: [UInt8]
  /// The indexes that its `.indexOn` entries declare, each once.
  public let indexes: [IndexDefinition]
  /// The limits on the rules' work.
  public var limits: RulesLimits
  let root: RulesNode

  /// Parses and checks a rules file.
  ///
  /// - Parameters:
  ///   - bytes: the file in UTF-8: JSON, which may have comments, strings over several lines and
  ///     commas before closing braces.
  ///   - limits: how much work the rules may do.
  /// - Throws: the first error in the file.
  public init(json bytes: [UInt8], limits: RulesLimits = RulesLimits()) throws(RulesError) {
    var reader = try RulesReader(bytes)
    root = try reader.read()
    indexes = reader.indexes
    source = bytes
    self.limits = limits
  }

  /// Parses and checks a rules file, as the other initialiser does.
  public init(json text: String, limits: RulesLimits = RulesLimits()) throws(RulesError) {
    try self.init(json: Array(text.utf8), limits: limits)
  }

  /// The file as strict JSON, without comments.
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

  /// Whether a `.read` at the target's path or above it is true, and which one.
  ///
  /// - Parameters:
  ///   - target: what is read; its query is `query` of the rules.
  ///   - context: who reads, and the data.
  public func decideRead(_ target: QueryTarget, _ context: AccessContext) -> AccessDecision {
    var decider = RuleDecider(RuleRequest(context, query: target.spec), limits)
    return decider.grant(.read, along: sites(of: target.path, in: decider.request))
  }

  /// Whether for each path a `.write` there or above is true, and all evaluated `.validate` hold:
  /// those of the path and of the places above that have data after the write, and, unless it
  /// deletes, those of the data that it writes below.
  ///
  /// - Parameters:
  ///   - paths: the nodes that one write replaces; a last segment `.priority` means only the
  ///     priority.
  ///   - after: the whole data as the write would leave it, server values resolved.
  ///   - context: who writes, and the data before.
  /// - Returns: the first refusal, or the decision on the last path.
  public func decideWrite(
    _ paths: [Path], after: Node, _ context: AccessContext
  ) -> AccessDecision {
    var decider = RuleDecider(RuleRequest(context, after: after), limits)
    var decision = AccessDecision(true)
    for path in paths where decision.isAllowed { decision = decide(path, &decider) }
    return decision
  }

  private func decide(_ path: Path, _ decider: inout RuleDecider) -> AccessDecision {
    let sites = sites(of: path, in: decider.request)
    let grant = decider.grant(.write, along: sites)
    if !grant.isAllowed { return grant }
    if let refusal = decider.invalid(along: sites) { return refusal }
    // Setting only a priority does not change the data below.
    if path.last?.isPriority != true, sites.count == path.count + 1, let last = sites.last,
      let refusal = decider.invalid(below: last.site, last.rules)
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
